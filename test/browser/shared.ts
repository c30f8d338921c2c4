/**
 * Lets one test control the server of all tests, kill it and start it again, through the process that started it
 * (global-setup.ts), so that the server outlives the test.
 */
import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { inject } from 'vitest'
import type { AgentRepository } from '../support/repository.ts'
import type { OwnServer } from './server.ts'

/** The commands of a test. Their arguments are JSON. */
interface Commands {
  cli(...args: string[]): Promise<string>
  sql(...args: Parameters<OwnServer['sql']>): Promise<void>
  /** Returns its address. */
  repository(...args: Parameters<OwnServer['repository']>): Promise<string>
  push(name: string, greeting: string): Promise<string>
  kill(): Promise<void>
  start(): Promise<void>
}

/** Opens the endpoint for `sharedServer`. `url`: its address. */
export async function openControl(server: OwnServer): Promise<{ url: string; close(): void }> {
  const repositories = new Map<string, AgentRepository>()
  const commands: Commands = {
    cli: server.cli,
    sql: server.sql,
    async repository(name, agent) {
      const repository = await server.repository(name, agent)
      repositories.set(name, repository)
      return repository.url
    },
    push: (name, greeting) => repositories.get(name)!.push(greeting),
    kill: server.kill,
    start: server.start,
  }
  async function answer(request: IncomingMessage): Promise<string> {
    const [command, ...args] = (await json(request)) as [keyof Commands, ...string[]]
    const done = await (commands[command] as (...args: string[]) => Promise<unknown>)(...args)
    return JSON.stringify(done ?? null)
  }
  const listening = http.createServer((request, response) => {
    answer(request).then(
      (text) => response.end(text),
      (error) => response.writeHead(500).end(String(error)),
    )
  })
  listening.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const { port } = listening.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    close() {
      listening.close()
      listening.closeAllConnections()
    },
  }
}

/** For tests: a test that kills the server must start it again. */
export function sharedServer(): Pick<OwnServer, 'cli' | 'sql' | 'kill' | 'start'> & {
  repository(...args: Parameters<OwnServer['repository']>): Promise<Pick<AgentRepository, 'url' | 'push'>>
} {
  async function ask<Name extends keyof Commands>(
    name: Name,
    ...args: Parameters<Commands[Name]>
  ): Promise<Awaited<ReturnType<Commands[Name]>>> {
    const response = await fetch(inject('control'), { method: 'POST', body: JSON.stringify([name, ...args]) })
    if (!response.ok) throw new Error(`${name}: ${await response.text()}`)
    return response.json()
  }
  return {
    cli: (...args) => ask('cli', ...args),
    sql: (...args) => ask('sql', ...args),
    kill: () => ask('kill'),
    start: () => ask('start'),
    async repository(...args) {
      const [name] = args
      // an absent argument stays absent in JSON
      return { url: await ask('repository', ...args), push: (greeting) => ask('push', name, greeting) }
    },
  }
}
