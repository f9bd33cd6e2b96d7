// A member of a consumer group through kafkajs; see ../go/member.
//
//	member.js ADDRESS TOPIC GROUP classic

const { Kafka, logLevel } = require('kafkajs')

const [address, topic, group] = process.argv.slice(2)
const say = (event) => process.stdout.write(JSON.stringify(event) + '\n')

// kafkajs has no other way to say what it did than its log and its events.
const logCreator = () => ({ log }) => say({ event: 'error', error: `${log.message} ${log.error || ''}` })
const kafka = new Kafka({ brokers: [address], logLevel: logLevel.ERROR, logCreator, retry: { initialRetryTime: 100, maxRetryTime: 1000, retries: 100 } })
const consumer = kafka.consumer({
  groupId: group, sessionTimeout: 6000, heartbeatInterval: 1000, rebalanceTimeout: 10000, maxWaitTimeInMs: 100,
  retry: { initialRetryTime: 100, maxRetryTime: 1000, retries: 100, restartOnFailure: async () => true },
})

// A join doesn't say its generation; the first heartbeat after it does.
let owned = []
let joined = false
const show = (generation) => say({ event: 'owned', generation, owned: [...owned].sort() })

consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  owned = payload.memberAssignment[topic] || []
  joined = true
  show()
})
consumer.on(consumer.events.REBALANCING, () => {
  owned = []
  show()
})
consumer.on(consumer.events.HEARTBEAT, ({ payload }) => {
  if (joined) show(payload.groupGenerationId)
  joined = false
})

async function main() {
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    autoCommitThreshold: 25,
    autoCommitInterval: 500,
    eachMessage: async ({ partition, message }) => {
      say({ event: 'record', partition, offset: Number(message.offset), key: message.key.toString() })
    },
  })
}

process.on('SIGTERM', async () => {
  await consumer.disconnect()
  process.exit(0)
})
main().catch((e) => {
  console.error(e)
  process.exit(1)
})
