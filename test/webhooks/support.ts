/** A receiver of webhooks that keeps what it got, and events of deployments to deliver. */
import { randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { expect } from 'vitest'
import type { NewEvent } from '../../src/domain/outbox/append.ts'
import { type RequestContext, transaction } from '../../src/domain/transaction/context.ts'
import { createEndpoint } from '../../src/domain/webhooks/manage.ts'
import { type HttpServer, startHttp } from '../support/web-server.ts'

// biome-ignore lint/suspicious/noExplicitAny: the test knows the shape
type Any = any

export interface Received {
  path: string
  headers: Record<string, string>
  raw: string
  body: Any
}

export interface Receiver extends HttpServer {
  /** Every request in order. */
  requests: Received[]
  /** The answer to a request: a status, or null for none. Default: 200. */
  answer: (request: Received) => number | null
  /** Numbers of the events that this path got, in order. */
  sequences(path: string): number[]
}

export async function startReceiver(): Promise<Receiver> {
  const requests: Received[] = []
  const http = await startHttp(async (request, response) => {
    const raw = await text(request)
    const received = {
      path: request.url!,
      headers: request.headers as Record<string, string>,
      raw,
      body: JSON.parse(raw),
    }
    requests.push(received)
    const status = receiver.answer(received)
    if (status !== null) response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end('ok')
  })
  const receiver: Receiver = {
    ...http,
    requests,
    answer: () => 200,
    sequences: (path) => requests.filter((one) => one.path === path).map(({ body }) => Number(body.data.sequence)),
  }
  return receiver
}

/** Throws if the signature of a message is not valid. */
export const verified = (secret: string, { raw, headers }: Received): Any => new Webhook(secret).verify(raw, headers)

/** Creates an endpoint that gets all events. */
export async function endpoint(ctx: RequestContext, url: string, more: object = {}) {
  const { row, secret } = await createEndpoint(ctx, {
    body: { name: 'ops', url, event_types: ['deployment.*'], ...more },
  })
  return { id: row.id, secret: secret! }
}

export const newDeployment = async (ctx: RequestContext): Promise<string> =>
  (
    await ctx.db.deployment.create({
      data: { workspaceId: ctx.workspace.id, name: `agent-${randomUUID().slice(0, 8)}`, source: 'external_container' },
    })
  ).id

/** Writes `count` events for each deployment in turn, in one transaction. */
export const happen = (
  ctx: RequestContext,
  deploymentIds: readonly string[],
  count = 1,
  more: Partial<NewEvent> = {},
) =>
  transaction(ctx, async (tx) => {
    for (let i = 0; i < count; i++)
      for (const deploymentId of deploymentIds)
        tx.emit({ workspaceId: ctx.workspace.id, type: 'deployment.updated', deploymentId, changed: ['name'], ...more })
  })

/** Expects that the messages of each deployment arrived in the order of the log. */
export function expectOrder(received: readonly Received[]): void {
  const data = received.map(({ body }) => body.data)
  for (const deployment of new Set(data.map((one) => one.deployment_id))) {
    const numbers = data.filter((one) => one.deployment_id === deployment).map((one) => Number(one.sequence))
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
  }
}
