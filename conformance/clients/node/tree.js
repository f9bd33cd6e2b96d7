// Loads a part of a source tree into a topic with kafkajs and asks for its offsets: load ADDR TOPIC DIR MAX.
// kafkajs can't read without a consumer group, so another client reads what it wrote.
const { createHash } = require('crypto')
const fs = require('fs')
const path = require('path')
const { Kafka, logLevel } = require('kafkajs')

function * files (root, dir = root) {
  for (const e of fs.readdirSync(dir, { withFileTypes: true })) {
    const full = path.join(dir, e.name)
    if (e.isDirectory()) yield * files(root, full)
    else if (e.isFile()) yield { key: path.relative(root, full), value: fs.readFileSync(full) }
  }
}

async function main (addr, topic, root, max) {
  const kafka = new Kafka({ clientId: 'tree', brokers: [addr], logLevel: logLevel.ERROR })
  const admin = kafka.admin()
  await admin.connect()
  await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions: 3, replicationFactor: 1, configEntries: [{ name: 'max.message.bytes', value: '16777216' }] }] })
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  let n = 0
  let batch = []
  const flush = async () => {
    if (batch.length > 0) await producer.send({ topic, acks: -1, compression: 1, messages: batch })
    batch = []
  }
  for (const f of files(root)) {
    if (n === max) break
    n++
    batch.push({ key: f.key, value: f.value, headers: { sha256: createHash('sha256').update(f.value).digest('hex') } })
    if (batch.length === 20) await flush()
  }
  await flush()
  const offsets = await admin.fetchTopicOffsets(topic)
  const total = offsets.reduce((sum, o) => sum + Number(o.high) - Number(o.low), 0)
  await producer.disconnect()
  await admin.disconnect()
  if (total !== n) throw new Error(`offsets say ${total} records, want ${n}`)
  console.log(n, 'files loaded')
}

main(process.argv[3], process.argv[4], process.argv[5], Number(process.argv[6])).catch(e => { console.error(e); process.exit(1) })
