package zkwire

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// tries is how often a question whose connection went away is asked.
const tries = 3

// read answers one batch. A connection that goes away under it may have done so
// because of the batch's size, which the server does not say: so the second
// loss halves it, and so does an answer that is too large.
func (c *Client) read(ctx context.Context, at int, ops []Op) ([]Result, error) {
	for try := 1; ; try++ {
		got, err := c.send(ctx, at, ops)
		var large *tooLargeError
		switch {
		case err == nil:
			return got, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, errNoMulti):
			c.single.Store(true)
			try = 0
		case errors.As(err, &large) && len(ops) == 1:
			return []Result{{Outcome: TooLarge}}, nil
		case errors.As(err, &large), errors.Is(err, ErrLost) && len(ops) > 1 && try > 1:
			return c.halves(ctx, at, ops)
		case errors.Is(err, errClosed), errors.Is(err, ErrRefused), try >= tries:
			return nil, err
		}
		if err := rest(ctx, time.Duration(try)*100*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func (c *Client) halves(ctx context.Context, at int, ops []Op) ([]Result, error) {
	left, err := c.read(ctx, at, ops[:len(ops)/2])
	if err != nil {
		return nil, err
	}
	right, err := c.read(ctx, at, ops[len(ops)/2:])
	return append(left, right...), err
}

func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Client) send(ctx context.Context, at int, ops []Op) ([]Result, error) {
	if len(ops) == 1 || c.alone(ops[0]) {
		return c.singles(ctx, at%singleConns, ops)
	}
	return c.multi(ctx, at%multiConns, ops)
}

// errNoMulti says that the server is older than 3.6.
var errNoMulti = errors.New("the server knows no multi-read")

func (c *Client) multi(ctx context.Context, at int, ops []Op) ([]Result, error) {
	on, err := c.at(ctx, at)
	if err != nil {
		return nil, err
	}
	asked, err := on.ask(ctx, opMultiRead, func(e *encoder) { encodeMulti(e, c.addr.Chroot, ops) }, min(multiBytes, c.o.MaxAnswer))
	if err != nil {
		return nil, err
	}
	r, err := on.wait(ctx, asked)
	switch {
	case err != nil:
		return nil, err
	case r.code == codeUnimplemented || r.code == codeMarshalling:
		// The server ends the session after the first of these.
		return nil, errNoMulti
	case r.code != 0:
		return nil, &CodeError{r.code}
	}
	return decodeMulti(r.body, ops)
}

// singles asks each question by itself, all of them before the first answer.
func (c *Client) singles(ctx context.Context, at int, ops []Op) ([]Result, error) {
	on, err := c.at(ctx, at)
	if err != nil {
		return nil, err
	}
	asked := make([]*call, len(ops))
	for i, op := range ops {
		if asked[i], err = on.ask(ctx, int32(op.Kind), func(e *encoder) { encodeOp(e, c.addr.Chroot, op) }, c.o.MaxAnswer); err != nil {
			return nil, err
		}
	}
	out := make([]Result, len(ops))
	for i, op := range ops {
		r, err := on.wait(ctx, asked[i])
		if err != nil {
			return nil, err
		}
		if out[i].Outcome = outcome(r.code); out[i].Outcome == Unanswered {
			return nil, fmt.Errorf("read %s: %w", op.Path, &CodeError{r.code})
		}
		if r.code == 0 {
			if out[i], err = decodeSingle(r.body, op.Kind); err != nil {
				return nil, fmt.Errorf("read %s: %w", op.Path, err)
			}
		}
	}
	return out, nil
}
