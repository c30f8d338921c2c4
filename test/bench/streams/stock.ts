/** What ours is compared with: graphql-yoga as it comes, with its own `createPubSub`, one event for all. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createPubSub, createSchema, createYoga } from 'graphql-yoga'
import { serve } from './serve.ts'

const pubSub = createPubSub<{ event: [Record<string, unknown>] }>()
const typeDefs = `
  type Query { nothing: Int }
  type Event { cursor: String! revisionId: ID! from: String to: String! message: String occurredAt: String! }
  type Subscription { revisionStatusChanged: Event! }`
const resolvers = {
  Subscription: {
    revisionStatusChanged: { subscribe: () => pubSub.subscribe('event'), resolve: (event: unknown) => event },
  },
}
const yoga = createYoga({ schema: createSchema({ typeDefs, resolvers }), logging: false })
// it warns of listeners of its own
process.removeAllListeners('warning')
process.once('disconnect', () => process.exit())
const server = createServer((request, response) => void yoga(request, response))
server.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  serve({ url, keys: ['none'] }, async (message) => {
    const revisionId = '00000000-0000-4000-8000-000000000000'
    const occurredAt = new Date().toISOString()
    const cursor = 'WyIwMDAwMDAwMC0wMDAwLTQwMDAtODAwMC0wMDAwMDAwMDAwMDAiLCIxIl0'
    pubSub.publish('event', { cursor, revisionId, from: 'BUILDING', to: 'AWAITING_DEPLOY', message, occurredAt })
    // a commit takes its time, too
    await new Promise((resolve) => setTimeout(resolve, 2))
  })
})
