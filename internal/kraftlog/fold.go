package kraftlog

import (
	"errors"
	"fmt"
)

// Fold follows one metadata log and keeps the image of what is decided in it.
// It is not for concurrent use; the Images it hands out are.
//
// A Fold that returned an error is of no more use: part of the bytes may
// have been applied. Start again with a new one.
type Fold struct {
	state *state
	// next is the first offset not read yet; decided is the offset before
	// which all records are applied or dropped.
	next    int64
	decided int64
	epoch   int32
	open    bool
	pending []record
	broken  error
	image   *Image
}

// NewFold starts with the empty log.
func NewFold() *Fold { return &Fold{state: newState()} }

// Next is the offset to read next, 0 at the start.
func (f *Fold) Next() int64 { return f.next }

// Epoch is the leader epoch of the last record read, 0 at the start: what a
// Fetch names as LastFetchedEpoch.
func (f *Fold) Epoch() int32 { return f.epoch }

// Image is the state so far. Copies are made only after a change, so asking
// often is cheap.
func (f *Fold) Image() Image {
	if f.image == nil {
		image := f.state.share()
		image.Offset, image.HasOffset, image.Epoch, image.Pending = f.decided-1, f.decided > 0, f.epoch, len(f.pending)
		if !image.HasOffset {
			image.Offset = 0
		}
		image.LastChange, image.HasChange = f.state.lastChange, f.state.hasChange
		f.image = &image
	}
	return *f.image
}

// ApplySnapshot replaces everything by the content of a complete snapshot,
// whose id is (endOffset, epoch): it covers the offsets before endOffset.
func (f *Fold) ApplySnapshot(endOffset int64, epoch int32, b []byte) error {
	if f.broken != nil {
		return f.broken
	}
	if endOffset <= 0 {
		return fmt.Errorf("snapshot %d-%d: covers no offset", endOffset, epoch)
	}
	fresh := newState()
	if err := fresh.applySnapshot(endOffset-1, b); err != nil {
		return fmt.Errorf("snapshot %d-%d: %w", endOffset, epoch, err)
	}
	*f = Fold{state: fresh, next: endOffset, decided: endOffset, epoch: epoch}
	return nil
}

func (s *state) applySnapshot(covers int64, b []byte) error {
	var begun, ended bool
	for len(b) > 0 {
		batch, rest, err := nextBatch(b)
		if err != nil {
			return err
		}
		b = rest
		entries, err := batch.entries()
		if err != nil {
			return err
		}
		for _, e := range entries {
			if ended {
				return fmt.Errorf("record %d comes after the footer", e.offset)
			}
			if e.control {
				kind, err := e.controlType()
				if err != nil {
					return err
				}
				begun, ended = begun || kind == controlSnapshotHeader, kind == controlSnapshotFooter
				continue
			}
			if !begun {
				return fmt.Errorf("record %d comes before the header", e.offset)
			}
			if err := s.applySnapshotRecord(e, covers); err != nil {
				return err
			}
		}
	}
	if !begun || !ended {
		return errors.New("incomplete: no header or no footer")
	}
	return nil
}

// applySnapshotRecord gives the record the last offset that the snapshot
// covers, since its own place in the log is not kept.
func (s *state) applySnapshotRecord(e entry, covers int64) error {
	rec, err := decodeFrame(e)
	if err != nil {
		return err
	}
	switch rec.kind {
	case typeBeginTransaction, typeEndTransaction, typeAbortTransaction:
		return fmt.Errorf("record %d: %s has no place in a snapshot", e.offset, typeName(rec.kind))
	}
	rec.offset = covers
	return s.apply(rec)
}

// ApplyBatches applies the batches of one Fetch answer, as far as they lie
// below the high watermark, and returns the offset to fetch next. A batch cut
// off at the end is left for the next Fetch; records already applied are skipped.
func (f *Fold) ApplyBatches(b []byte, highWatermark int64) (int64, error) {
	if f.broken != nil {
		return f.next, f.broken
	}
	for len(b) > 0 && f.next < highWatermark {
		batch, rest, err := nextBatch(b)
		if errors.Is(err, errTorn) {
			break
		}
		if err == nil {
			err = f.applyBatch(batch, highWatermark)
		}
		if err != nil {
			f.broken = err
			return f.next, err
		}
		b = rest
	}
	return f.next, nil
}

func (f *Fold) applyBatch(b batch, highWatermark int64) error {
	if b.base > f.next {
		return fmt.Errorf("metadata log jumps from offset %d to %d", f.next, b.base)
	}
	entries, err := b.entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.offset < f.next {
			continue
		}
		if e.offset >= highWatermark {
			return nil
		}
		if err := f.read(e); err != nil {
			return err
		}
		f.image, f.epoch, f.next = nil, e.epoch, e.offset+1
		if !f.open {
			f.decided = f.next
		}
	}
	return nil
}

// read takes in one record: applied at once, or held until its transaction ends.
func (f *Fold) read(e entry) error {
	if e.control {
		_, err := e.controlType() // leader changes and the like change nothing here
		return err
	}
	rec, err := decodeFrame(e)
	if err != nil {
		return err
	}
	switch rec.kind {
	case typeBeginTransaction:
		if f.open {
			return fmt.Errorf("record at offset %d: transaction begins within another", e.offset)
		}
		f.open = true
		return nil
	case typeEndTransaction, typeAbortTransaction:
		return f.closeTransaction(rec)
	}
	if f.open {
		f.pending = append(f.pending, rec)
		return nil
	}
	return f.state.apply(rec)
}

// closeTransaction applies or drops what was held. A new leader aborts the
// transaction that the old one left open.
func (f *Fold) closeTransaction(rec record) error {
	if !f.open {
		return fmt.Errorf("record at offset %d: %s without a transaction", rec.offset, typeName(rec.kind))
	}
	held := f.pending
	f.open, f.pending = false, nil
	if rec.kind == typeAbortTransaction {
		return nil
	}
	for _, r := range held {
		if err := f.state.apply(r); err != nil {
			return err
		}
	}
	return nil
}
