package kraftlog

import "fmt"

func (s *state) registerBroker(rec record) error {
	f := rec.fields()
	b := Broker{ID: f.Int32(), RegisteredAt: rec.offset}
	if rec.version >= 2 {
		b.MigratingZK = f.Bool()
	}
	b.Incarnation = f.uuid()
	b.Epoch = f.Int64()
	b.Endpoints = f.endpoints()
	f.skipFeatures()
	b.Rack = f.CompactNullableString()
	b.Fenced = f.Bool()
	if rec.version >= 1 {
		b.InControlledShutdown = f.Bool()
	}
	if !f.end(nil) {
		return rec.cutOff()
	}
	s.brokers[b.ID] = b
	return nil
}

func (s *state) unregisterBroker(rec record) error {
	f := rec.fields()
	id := f.Int32()
	f.Int64() // epoch; Kafka's replay does not compare it either
	if !f.end(nil) {
		return rec.cutOff()
	}
	delete(s.brokers, id)
	return nil
}

// broker finds the registration that a later record means.
func (s *state) broker(rec record, id int32, epoch int64) (Broker, error) {
	b, ok := s.brokers[id]
	if !ok {
		return Broker{}, fmt.Errorf("record at offset %d: %s of broker %d, which is not registered", rec.offset, typeName(rec.kind), id)
	}
	if b.Epoch != epoch {
		return Broker{}, fmt.Errorf("record at offset %d: %s of broker %d at epoch %d, which is registered at epoch %d", rec.offset, typeName(rec.kind), id, epoch, b.Epoch)
	}
	return b, nil
}

func (s *state) fenceBroker(rec record) error {
	f := rec.fields()
	id, epoch := f.Int32(), f.Int64()
	if !f.end(nil) {
		return rec.cutOff()
	}
	b, err := s.broker(rec, id, epoch)
	if err != nil {
		return err
	}
	b.Fenced = rec.kind == typeFenceBroker
	s.brokers[id] = b
	return nil
}

func (s *state) changeBroker(rec record) error {
	f := rec.fields()
	id, epoch := f.Int32(), f.Int64()
	var fenced, shutdown int8
	whole := f.end(func(tag uint32, value *fields) {
		switch tag {
		case 0:
			fenced = value.Int8()
		case 1:
			shutdown = value.Int8()
		}
	})
	if !whole {
		return rec.cutOff()
	}
	b, err := s.broker(rec, id, epoch)
	if err != nil {
		return err
	}
	switch fenced {
	case -1:
		b.Fenced = false
	case 0:
	case 1:
		b.Fenced = true
	default:
		return fmt.Errorf("record at offset %d: fencing change %d of broker %d has no meaning", rec.offset, fenced, id)
	}
	switch shutdown {
	case 0:
	case 1:
		b.InControlledShutdown = true
	default:
		return fmt.Errorf("record at offset %d: shutdown change %d of broker %d has no meaning", rec.offset, shutdown, id)
	}
	s.brokers[id] = b
	return nil
}

func (s *state) registerController(rec record) error {
	f := rec.fields()
	c := Controller{ID: f.Int32(), Incarnation: f.uuid(), ZkMigrationReady: f.Bool(), Endpoints: f.endpoints(), Offset: rec.offset}
	f.skipFeatures()
	if !f.end(nil) {
		return rec.cutOff()
	}
	s.controllers[c.ID] = c
	return nil
}
