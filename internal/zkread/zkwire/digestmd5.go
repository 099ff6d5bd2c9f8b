package zkwire

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// DigestMD5 logs a user in as ZooKeeper's SASL port wants it (RFC 2831, quality
// of protection auth). The service name and host are those that ZooKeeper's own
// Java client uses whatever the member is called.
func DigestMD5(user string, password func(context.Context) (string, error)) func(context.Context, string, func([]byte) ([]byte, error)) error {
	return func(ctx context.Context, _ string, exchange func([]byte) ([]byte, error)) error {
		secret, err := password(ctx)
		if err != nil {
			return err
		}
		challenge, err := exchange([]byte{})
		if err != nil {
			return err
		}
		answer, err := digestResponse(user, secret, string(challenge), rand.Text())
		if err != nil {
			return err
		}
		_, err = exchange([]byte(answer))
		return err
	}
}

const digestURI = "zookeeper/zk-sasl-md5"

var directive = regexp.MustCompile(`([a-zA-Z-]+)=(?:"((?:[^"\\]|\\.)*)"|([^,"]*))`)

func digestResponse(user, password, challenge, cnonce string) (string, error) {
	said := map[string]string{}
	for _, m := range directive.FindAllStringSubmatch(challenge, -1) {
		said[strings.ToLower(m[1])] = m[2] + m[3]
	}
	if said["nonce"] == "" {
		return "", errors.New("the member's challenge is none of DIGEST-MD5")
	}
	sum := func(text string) string {
		h := md5.Sum([]byte(text))
		return hex.EncodeToString(h[:])
	}
	const count = "00000001"
	secret := md5.Sum([]byte(user + ":" + said["realm"] + ":" + password))
	a1 := sum(string(secret[:]) + ":" + said["nonce"] + ":" + cnonce)
	response := sum(strings.Join([]string{a1, said["nonce"], count, cnonce, "auth", sum("AUTHENTICATE:" + digestURI)}, ":"))
	return fmt.Sprintf(`charset=utf-8,username=%q,realm=%q,nonce=%q,nc=%s,cnonce=%q,digest-uri=%q,maxbuf=65536,response=%s,qop=auth`,
		user, said["realm"], said["nonce"], count, cnonce, digestURI, response), nil
}
