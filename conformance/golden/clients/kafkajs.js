// Asks kafkajs where it puts keys. See doc.go of package golden. NODE_PATH has kafkajs.
const readline = require('readline')
const { Partitioners } = require('kafkajs')
const { version } = require('kafkajs/package.json')

const counts = process.argv.slice(2).map(Number)

// A key that goes to several partitions when asked again goes there by chance.
function place(partition, key, partitionMetadata) {
  const ask = () => partition({ topic: 't', partitionMetadata, message: { key, value: 'v' } })
  const first = ask()
  for (let i = 0; i < 3; i++) if (ask() !== first) return -1
  return first
}

async function main() {
  const keys = []
  for await (const line of readline.createInterface({ input: process.stdin })) {
    keys.push(line === '-' ? null : Buffer.from(line, 'hex'))
  }
  console.log(`client kafkajs ${version}`)
  console.log('partitioner default')
  for (const n of counts) {
    const metadata = Array.from({ length: n }, (_, partitionId) => ({ partitionId, leader: 1 }))
    const partition = Partitioners.DefaultPartitioner()
    console.log([n, ...keys.map(key => place(partition, key, metadata))].join(' '))
  }
}

main()
