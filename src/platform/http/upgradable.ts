/**
 * Decides which requests become WebSockets. Once a listener exists, Node hands over every request with an `Upgrade` header,
 * including clients that offer HTTP/2 (Java, `curl --http2`) and expect a normal response.
 */
import { IncomingMessage } from 'node:http'

/**
 * Request class for `createServer`. Only WebSocket requests accepted by `takes` are upgraded; others get a normal response.
 */
export function upgradableMessages(takes: (request: IncomingMessage) => boolean): typeof IncomingMessage {
  return class UpgradableMessage extends IncomingMessage {
    declare private asked: boolean
    /** Node reads it after parsing the headers. */
    get upgrade(): boolean {
      // CONNECT is refused elsewhere: no HTTP response could follow it on the connection
      return this.asked && (this.method === 'CONNECT' || (isWebSocket(this) && takes(this)))
    }
    set upgrade(asked: boolean) {
      this.asked = asked
    }
  }
}

function isWebSocket({ method, headers }: IncomingMessage): boolean {
  const protocols = (headers.upgrade ?? '').toLowerCase().split(',')
  return method === 'GET' && protocols.some((one) => one.trim() === 'websocket')
}
