/** GraphQL subscriptions over WebSocket, implemented from the protocol `graphql-transport-ws`. */
import { WebSocket } from 'ws'
import { endOf, subscriptionOf } from './graphql-sse.ts'
import { CUT, type End, NO_ANSWER, says, type Wire } from './wire.ts'

/** `pace`: called after subscribing, to pause reading. */
export function webSocket(pace?: (socket: WebSocket) => void): Wire {
  return ({ url, key, scope, after, got, heard, signal }) => {
    const { query, field } = subscriptionOf(scope, pace ? 'long' : 'light')
    const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    let end: End = NO_ANSWER
    let over = false
    const say = (message: object) => socket.send(JSON.stringify(message))
    const leave = () => socket.terminate()
    signal.addEventListener('abort', leave)
    if (signal.aborted) leave()
    socket.on('open', () => {
      end = CUT
      say({ type: 'connection_init', payload: { 'X-Api-Key': key } })
    })
    // any message is a sign of life
    socket.on('ping', heard)
    socket.on('message', (text) => {
      heard()
      // biome-ignore lint/suspicious/noExplicitAny: a message of the protocol
      const { type, payload } = JSON.parse(String(text)) as any
      if (type === 'connection_ack') {
        say({
          id: '1',
          type: 'subscribe',
          payload: { query, variables: { deploymentId: scope.deploymentId, after } },
        })
        pace?.(socket)
      } else if (type === 'next') got({ cursor: payload.data[field].cursor, says: says(payload.data[field]) })
      else if (type === 'error' || type === 'complete') {
        end = endOf(payload) ?? { how: 'complete' }
        over = true
        socket.close()
      }
    })
    socket.on('error', () => {})
    return new Promise((resolve) => {
      socket.on('close', (code) => {
        signal.removeEventListener('abort', leave)
        if (code === FORBIDDEN && !over) end = { how: '401 forbidden' }
        resolve(end)
      })
    })
  }
}

const FORBIDDEN = 4403
