/**
 * Which requests leave HTTP. Node hands every request with an `Upgrade` header over as soon as anybody listens for one: those of
 * clients, too, that offer HTTP/2 with each request, as Java's and `curl --http2` do, and expect an answer.
 */
import { IncomingMessage } from 'node:http'

/** For `createServer`: a class of requests of which those that open a WebSocket, and that `takes`, are handed over; the others are answered. */
export function upgradableMessages(takes: (request: IncomingMessage) => boolean): typeof IncomingMessage {
  return class UpgradableMessage extends IncomingMessage {
    declare private asked: boolean
    /** Node asks for it when the headers have been read. */
    get upgrade(): boolean {
      // what CONNECT asks for is refused elsewhere: it has no answer that HTTP could go on behind
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
