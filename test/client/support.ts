/** The client and its commands against a server in this process, and a proxy that disturbs them. */
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import type { RemoteCommand } from '../../src/cli/remote/call.ts'
import { CommandError, UsageError } from '../../src/cli/terminal/command.ts'
import { type Client, type ClientOptions, createClient } from '../../src/client/index.ts'
import type { TestApp } from '../support/app.ts'
import { startHttp } from '../support/web-server.ts'

/** A client with the admin key of workspace A. */
export const clientOf = (app: Pick<TestApp, 'url' | 'keys'>, options: Partial<ClientOptions> = {}): Client =>
  createClient({ baseUrl: app.url, apiKey: app.keys.admin, retryForMs: 20_000, ...options })

/** What the proxy does with a request: forwards it, drops its answer, or answers itself. */
export type Trouble = 'pass' | 'swallow' | { status: number; headers?: Record<string, string>; body?: string }

/**
 * An HTTP proxy in front of `target`. `plan` treats the writes in turn, then all pass; with `reads`, the reads too.
 * Returns its URL and the received requests. Ends with the test.
 */
export async function troubled(target: string, plan: Trouble[], { reads = false } = {}) {
  const seen: string[] = []
  const forward = async (request: IncomingMessage, response: ServerResponse) => {
    const trouble = (reads || request.method !== 'GET' ? plan.shift() : undefined) ?? 'pass'
    seen.push(`${request.method} ${new URL(request.url!, target).pathname}`)
    const body = await buffer(request)
    if (typeof trouble === 'object') {
      response.writeHead(trouble.status, trouble.headers).end(trouble.body)
      return
    }
    // uses node:http on a separate connection, because the client under test configures fetch
    const { method, headers } = request
    const asked = http.request(target + request.url, { method, headers, agent: false }).end(body)
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    const text = await buffer(answer)
    if (trouble === 'swallow') {
      response.destroy()
      return
    }
    const { connection: _, 'transfer-encoding': __, ...kept } = answer.headers
    response.writeHead(answer.statusCode!, kept).end(text)
  }
  const { origin, close } = await startHttp(forward)
  onTestFinished(close)
  return { url: origin, seen }
}

export interface Ran {
  code: number
  /** stdout */
  out: string
  /** stderr, including the last message */
  err: string
}

/**
 * Runs a command like the process, and collects its output. `onLine` gets each line of progress. `colours`: as on a
 * terminal with colours.
 */
export async function command(
  { call }: RemoteCommand,
  args: string[],
  env: Record<string, string>,
  onLine: (line: string) => void = () => {},
  colours = false,
): Promise<Ran> {
  const ran: Ran = { code: 0, out: '', err: '' }
  const io = {
    env,
    ...(colours ? { colours: { out: true, err: true } } : {}),
    out: (text: string) => {
      ran.out += text
    },
    err: (text: string) => {
      ran.err += text
      onLine(text)
    },
  }
  await call(args, io).catch((error) => {
    if (!(error instanceof UsageError || error instanceof CommandError)) throw error
    ran.err += `${error.message}\n`
    ran.code = error instanceof UsageError ? 2 : error.exitCode
  })
  return ran
}
