/** The context of every resolver: REST's RequestContext plus what only GraphQL needs. */
import type { RequestContext } from '../../../domain/transaction/context.ts'
import type { Relay } from '../../realtime/relay.ts'

export interface GraphQLContext extends RequestContext {
  /** carries the event log to subscriptions */
  relay: Relay
  /** `Last-Event-ID` of a client that reconnects with unchanged arguments; it overrides `after` */
  lastEventId: string | null
  /** the HTTP request; its signal aborts when the client disconnects */
  request: Pick<Request, 'signal'>
  /** cost of the operation (cost.ts), if known */
  cost?: number
}
