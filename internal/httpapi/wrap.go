package httpapi

import (
	"fmt"
	"io"

	"migrator/internal/evidence"
	"migrator/internal/service"
)

// Of serves a service of this process.
func Of(s *service.Service) Service { return served{s} }

type served struct{ *service.Service }

func (s served) Machine(name string) (Machine, bool) {
	m, ok := s.Service.Machine(name)
	if !ok {
		return nil, false // never a nil *Machine in a Machine that is not nil
	}
	return m, true
}

func (s served) Evidence(name string, w io.Writer) error {
	cfg, ok := s.Config(name)
	if !ok {
		return unknownName(name)
	}
	found, err := s.Journal(name, 0)
	if err != nil {
		return err
	}
	pack, err := evidence.Build(found, cfg)
	if err != nil {
		return fmt.Errorf("evidence of %s: %w", name, err)
	}
	files, err := evidence.Files(pack, found, s.Blob)
	if err != nil {
		return fmt.Errorf("evidence of %s: %w", name, err)
	}
	return evidence.WriteTar(w, files)
}
