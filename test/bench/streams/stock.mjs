/** The contender: graphql-yoga with its own `createPubSub`, one event for all. */
import { createServer } from 'node:http'
import { createPubSub, createSchema, createYoga } from 'graphql-yoga'

const pubSub = createPubSub()
const typeDefs = `
  type Query { nothing: Int }
  type Event { cursor: String! revisionId: ID! from: String to: String! message: String occurredAt: String! }
  type Subscription { revisionStatusChanged: Event! }`
const resolvers = {
  Subscription: {
    revisionStatusChanged: { subscribe: () => pubSub.subscribe('event'), resolve: (event) => event },
  },
}
const yoga = createYoga({ schema: createSchema({ typeDefs, resolvers }), logging: false })
// it warns about the number of listeners on its emitter
process.removeAllListeners('warning')
process.once('disconnect', () => process.exit())
process.on('message', ({ publish }) => {
  pubSub.publish('event', {
    cursor: 'WyIwMDAwMDAwMC0wMDAwLTQwMDAtODAwMC0wMDAwMDAwMDAwMDAiLCIxIl0',
    revisionId: '00000000-0000-4000-8000-000000000000',
    from: 'BUILDING',
    to: 'AWAITING_DEPLOY',
    message: publish,
    occurredAt: new Date().toISOString(),
  })
  // a commit takes time, too
  setTimeout(() => process.send({}), 2)
})
createServer((request, response) => void yoga(request, response)).listen(Number(process.env.PORT), '127.0.0.1')
