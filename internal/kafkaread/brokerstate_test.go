package kafkaread

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

func TestABrokerTellsWhatItRunsWith(t *testing.T) {
	c := fakeCluster(t, kfake.NumBrokers(1))
	value := "3.8-IV0"
	control(c, 32, func(req *kmsg.DescribeConfigsRequest) (kmsg.Response, error) {
		if r := req.Resources[0]; r.ResourceType != kmsg.ConfigResourceTypeBroker || r.ResourceName != "7" || r.ConfigNames != nil {
			t.Errorf("asked %+v, want everything of broker 7", r)
		}
		resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
		answer := kmsg.NewDescribeConfigsResponseResource()
		answer.Configs = []kmsg.DescribeConfigsResponseResourceConfig{
			{Name: "inter.broker.protocol.version", Value: &value, Source: kmsg.ConfigSourceStaticBrokerConfig},
			{Name: "ssl.keystore.password", IsSensitive: true, Source: kmsg.ConfigSourceDynamicBrokerConfig},
		}
		resp.Resources = append(resp.Resources, answer)
		return resp, nil
	})
	host, port := hostPort(t, c.ListenAddrs()[0])
	got, err := openBrokers(t, c.ListenAddrs()...).Settings(withTimeout(t), host, port, 7)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got[0].Source != "static" || *got[0].Value != value || !got[1].Sensitive || got[1].Value != nil || got[1].Source != "dynamic-broker" {
		t.Errorf("got %+v", got)
	}
}

func TestARefusedQuestionIsAnErrorAndNoEmptyAnswer(t *testing.T) {
	c := fakeCluster(t, kfake.NumBrokers(1))
	control(c, 32, func(req *kmsg.DescribeConfigsRequest) (kmsg.Response, error) {
		resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
		answer := kmsg.NewDescribeConfigsResponseResource()
		answer.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		resp.Resources = append(resp.Resources, answer)
		return resp, nil
	})
	control(c, 35, func(req *kmsg.DescribeLogDirsRequest) (kmsg.Response, error) {
		return req.ResponseKind(), nil
	})
	host, port := hostPort(t, c.ListenAddrs()[0])
	b := openBrokers(t, c.ListenAddrs()...)
	if got, err := b.Settings(withTimeout(t), host, port, 1); !errors.Is(err, ErrNotAuthorized) {
		t.Errorf("settings %+v, %v; want not authorized", got, err)
	}
	if got, err := b.LogDirs(withTimeout(t), host, port); err == nil {
		t.Errorf("log directories %+v without an error", got)
	}
}

func TestAnOfflineLogDirectoryIsNamed(t *testing.T) {
	c := fakeCluster(t, kfake.NumBrokers(1))
	control(c, 35, func(req *kmsg.DescribeLogDirsRequest) (kmsg.Response, error) {
		if req.Topics == nil || len(req.Topics) > 0 {
			t.Error("every partition was asked for")
		}
		resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
		resp.Dirs = []kmsg.DescribeLogDirsResponseDir{{Dir: "/d1"}, {Dir: "/d2", ErrorCode: kerr.KafkaStorageError.Code}}
		return resp, nil
	})
	host, port := hostPort(t, c.ListenAddrs()[0])
	got, err := openBrokers(t, c.ListenAddrs()...).LogDirs(withTimeout(t), host, port)
	if err != nil || len(got) != 2 || got[0].Err != nil || !errors.Is(got[1].Err, kerr.KafkaStorageError) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTheReleaseIsToldOnlyWhenItFitsOne(t *testing.T) {
	answer := func(v *kversion.Versions) *kmsg.ApiVersionsResponse {
		resp := kmsg.NewPtrApiVersionsResponse()
		v.EachMaxKeyVersion(func(k, max int16) {
			key := kmsg.NewApiVersionsResponseApiKey()
			key.ApiKey, key.MaxVersion = k, max
			resp.ApiKeys = append(resp.ApiKeys, key)
		})
		return resp
	}
	if got := releaseOf(answer(kversion.V3_8_0())); got != "3.8" {
		t.Errorf("release %q, want 3.8", got)
	}
	odd := answer(kversion.V3_8_0())
	odd.ApiKeys[0].MaxVersion = 1
	if got := releaseOf(odd); got != "" {
		t.Errorf("release %q of a vendor's own build, want none", got)
	}
}
