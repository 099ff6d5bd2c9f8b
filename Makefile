KAFKA_VERSION ?= 3.9.2

.PHONY: jars
jars: ## get Kafka's and ZooKeeper's jars through Maven into .lab, once
	@sh internal/lab/jars.sh $(KAFKA_VERSION) .lab/kafka-$(KAFKA_VERSION)
