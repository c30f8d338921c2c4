/** Wraps an async request handler of node:http: a handler that fails ends its connection, and the caller sees it. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

export const asyncListener =
  (answer: (request: IncomingMessage, response: ServerResponse) => Promise<unknown>): RequestListener =>
  (request, response) =>
    void answer(request, response).catch((error) => response.destroy(error))
