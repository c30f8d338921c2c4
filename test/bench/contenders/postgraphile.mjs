/**
 * PostGraphile 5 with its Amber preset, as its documentation recommends. Queries select the workspace with a
 * condition.
 */
import { createServer } from 'node:http'
import { postgraphile } from 'postgraphile'
import { makePgService } from 'postgraphile/adaptors/pg'
import { grafserv } from 'postgraphile/grafserv/node'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'

const pgService = makePgService({
  connectionString: process.env.DATABASE_URL,
  schemas: ['public'],
  poolConfig: { max: 10 },
})
const service = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [pgService],
  // it offers no order and no condition by columns with partial indexes, which ours have
  disablePlugins: ['PgIndexBehaviorsPlugin'],
  grafserv: { graphqlPath: '/graphql', graphiql: false, watch: false },
}).createServ(grafserv)
const server = createServer()
await service.addTo(server)
server.listen(Number(process.env.PORT), '127.0.0.1')
