package lab

// log4jProperties splits a node's log as Kafka's own config/log4j.properties
// does: a reader of server.log alone misses the controller's lines. Files do
// not roll by the hour, so that a run's log is one piece.
const log4jProperties = `log4j.rootLogger=INFO, stdout, server

log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n

log4j.appender.server=org.apache.log4j.FileAppender
log4j.appender.server.File=${kafka.logs.dir}/server.log
log4j.appender.server.layout=org.apache.log4j.PatternLayout
log4j.appender.server.layout.ConversionPattern=[%d] %p %m (%c)%n

log4j.appender.controller=org.apache.log4j.FileAppender
log4j.appender.controller.File=${kafka.logs.dir}/controller.log
log4j.appender.controller.layout=org.apache.log4j.PatternLayout
log4j.appender.controller.layout.ConversionPattern=[%d] %p %m (%c)%n

log4j.appender.stateChange=org.apache.log4j.FileAppender
log4j.appender.stateChange.File=${kafka.logs.dir}/state-change.log
log4j.appender.stateChange.layout=org.apache.log4j.PatternLayout
log4j.appender.stateChange.layout.ConversionPattern=[%d] %p %m (%c)%n

log4j.logger.org.apache.kafka.controller=INFO, controller
log4j.additivity.org.apache.kafka.controller=false
log4j.logger.kafka.controller=INFO, controller
log4j.additivity.kafka.controller=false
log4j.logger.state.change.logger=INFO, stateChange
log4j.additivity.state.change.logger=false

log4j.logger.org.apache.kafka.metadata.migration=TRACE
`

// log4j2Properties is the same for Kafka 4.x (KIP-653).
const log4j2Properties = `appenders=stdout, server, controller, stateChange

appender.stdout.type=Console
appender.stdout.name=stdout
appender.stdout.layout.type=PatternLayout
appender.stdout.layout.pattern=[%d] %p %m (%c)%n

appender.server.type=File
appender.server.name=server
appender.server.fileName=${sys:kafka.logs.dir}/server.log
appender.server.layout.type=PatternLayout
appender.server.layout.pattern=[%d] %p %m (%c)%n

appender.controller.type=File
appender.controller.name=controller
appender.controller.fileName=${sys:kafka.logs.dir}/controller.log
appender.controller.layout.type=PatternLayout
appender.controller.layout.pattern=[%d] %p %m (%c)%n

appender.stateChange.type=File
appender.stateChange.name=stateChange
appender.stateChange.fileName=${sys:kafka.logs.dir}/state-change.log
appender.stateChange.layout.type=PatternLayout
appender.stateChange.layout.pattern=[%d] %p %m (%c)%n

rootLogger.level=INFO
rootLogger.appenderRefs=stdout, server
rootLogger.appenderRef.stdout.ref=stdout
rootLogger.appenderRef.server.ref=server

loggers=controller, stateChange

logger.controller.name=org.apache.kafka.controller
logger.controller.level=INFO
logger.controller.additivity=false
logger.controller.appenderRefs=controller
logger.controller.appenderRef.controller.ref=controller

logger.stateChange.name=state.change.logger
logger.stateChange.level=INFO
logger.stateChange.additivity=false
logger.stateChange.appenderRefs=stateChange
logger.stateChange.appenderRef.stateChange.ref=stateChange
`

// Tools say what goes wrong on standard output, which is their answer.
const (
	toolLog4jProperties = `log4j.rootLogger=WARN, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
`
	toolLog4j2Properties = `appenders=stdout
appender.stdout.type=Console
appender.stdout.name=stdout
appender.stdout.layout.type=PatternLayout
appender.stdout.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=WARN
rootLogger.appenderRefs=stdout
rootLogger.appenderRef.stdout.ref=stdout
`
)
