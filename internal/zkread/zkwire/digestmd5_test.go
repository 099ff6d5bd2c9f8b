package zkwire

import (
	"strings"
	"testing"
)

// The figures are RFC 2831's own scheme worked by hand for ZooKeeper's fixed
// digest-uri with md5sum(1).
func TestDigestMD5AnswersAChallenge(t *testing.T) {
	got, err := digestResponse("kafka", "kafka-secret", `realm="zk-sasl-md5",nonce="abc+/=",charset=utf-8,algorithm=md5-sess`, "0123")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`username="kafka"`, `realm="zk-sasl-md5"`, `nonce="abc+/="`, "qop=auth"} {
		if !strings.Contains(got, part) {
			t.Errorf("%s lacks %s", got, part)
		}
	}
	if strings.Contains(got, "kafka-secret") {
		t.Error("the password goes over the wire")
	}
	if _, err := digestResponse("u", "p", "junk", "1"); err == nil {
		t.Error("junk passes for a challenge")
	}
}
