// Writes records one by one through kafkajs after a login; see security.sh.
//
//     secured.js ADDRESS USER PASSWORD TOPIC COUNT
'use strict'

const { Kafka, logLevel, KafkaJSSASLAuthenticationError } = require('kafkajs')

const DENIED = 3
const NO_LOGIN = 4

// causes are an error and what it was made of.
function * causes (error) {
  for (; error; error = error.cause || error.originalError) {
    yield error
    yield * (error.errors || [])
  }
}

function code (error) {
  for (const e of causes(error)) {
    if (e instanceof KafkaJSSASLAuthenticationError || e.name === 'KafkaJSSASLAuthenticationError') return NO_LOGIN
    if (/_AUTHORIZATION_FAILED$/.test(e.type || '')) return DENIED
  }
  console.log(error)
  return 1
}

async function main ([address, username, password, topic, count]) {
  const kafka = new Kafka({ brokers: [address], sasl: { mechanism: 'plain', username, password }, ssl: false, logLevel: logLevel.NOTHING, retry: { retries: 3 } })
  const producer = kafka.producer({ allowAutoTopicCreation: false })
  try {
    await producer.connect()
    for (let n = 0; n < Number(count); n++) {
      const [at] = await producer.send({ topic, messages: [{ value: `record ${n}` }] })
      console.log(`record ${at.baseOffset}`)
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    return 0
  } catch (error) {
    return code(error)
  } finally {
    await producer.disconnect()
  }
}

main(process.argv.slice(2)).then(code => process.exit(code))
