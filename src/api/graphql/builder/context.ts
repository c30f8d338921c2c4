/** What every resolver is given: the caller's RequestContext, as in REST, and what only GraphQL needs. */
import type { RequestContext } from '../../../domain/transaction/context.ts'
import type { Relay } from '../../realtime/relay.ts'

export interface GraphQLContext extends RequestContext {
  /** carries the event log to subscriptions */
  relay: Relay
  /** of a client that comes back to a stream by itself, its arguments as they were: it wins over `after` */
  lastEventId: string | null
  /** the HTTP request; its signal aborts when the client is gone */
  request: Pick<Request, 'signal'>
  /** what the operation costs (cost.ts), where that is known */
  cost?: number
}
