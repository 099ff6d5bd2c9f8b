package connect

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"
)

// What X500Principal.getName() of OpenJDK 17 says of the same names.
func TestASubjectIsWrittenAsJavaDoes(t *testing.T) {
	serial := pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 5}, Value: "12"}
	tests := []struct {
		name pkix.Name
		want string
	}{
		{pkix.Name{CommonName: "migrator", Organization: []string{"Lab"}}, "CN=migrator,O=Lab"},
		{pkix.Name{CommonName: "b1", Organization: []string{"Acme, Inc."}, OrganizationalUnit: []string{"X"}, Country: []string{"DE"}}, `CN=b1,OU=X,O=Acme\, Inc.,C=DE`},
		{pkix.Name{CommonName: "#a b ", ExtraNames: []pkix.AttributeTypeAndValue{serial}}, `2.5.4.5=#13023132,CN=\#a b\ `},
	}
	for _, tt := range tests {
		raw, err := asn1.Marshal(tt.name.ToRDNSequence())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := subject(raw); err != nil || got != tt.want {
			t.Errorf("%q, %v; want %q", got, err, tt.want)
		}
	}
}
