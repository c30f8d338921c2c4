/**
 * Many subscribers of the same document: each event is read and executed once for all with the same rights. And one that
 * stops reading: the server's buffer is bounded, and the client learns where to resume.
 */
import { once } from 'node:events'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { createClient } from 'graphql-sse'
import { afterEach, expect, test } from 'vitest'
import { announce } from '../realtime/support.ts'
import { useApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { imageDeployment } from '../support/factories.ts'

const app = useApp()
const clients: { dispose(): void }[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) client.dispose()
  await expect.poll(inUse).toBe(0)
})

// biome-ignore lint/suspicious/noExplicitAny: a GraphQL result has the shape of its document
type Any = any

const RESUMED = `subscription ($deploymentId: ID, $after: String) {
  revisionStatusChanged(deploymentId: $deploymentId, after: $after) { cursor to message revision { status deployment { name } } } }`

/** The reference client of GraphQL over SSE, distinct connections mode. */
function subscribe(variables: object = {}, { query = RESUMED, key = app.keys.viewer, headers = {} } = {}) {
  const url = `${app.url}/graphql`
  const on = { connected: () => began() }
  const client = createClient({ url, headers: { 'x-api-key': key, ...headers }, retryAttempts: 0, on })
  clients.push(client)
  let began!: () => void
  const begun = new Promise<void>((resolve) => {
    began = resolve
  })
  const results = client.iterate<Any>({ query, variables: { ...variables } })
  return {
    /** Resolves when the answer has begun. From then on events reach the client; its slot was taken before. */
    begun,
    async next(): Promise<Any> {
      const { value } = await results.next()
      if (value?.errors) throw new Error(JSON.stringify(value.errors))
      return value?.data.revisionStatusChanged
    },
  }
}

const say = (...messages: string[]) => announce(app.app.core, app.tenant.workspaceId, messages)
const inUse = () => app.app.core.slots!.streams.inUse
const interrupt = ({ id, latest_revision_id }: Any) =>
  app.rest('POST', `/v2/deployments/${id}/revisions/${latest_revision_id}/interrupt`)

test('an event costs the same statements for 60 subscribers as for one, even if some resumed with a cursor', async () => {
  const deployment = await imageDeployment(app, { name: 'shared' })
  const first = subscribe({ deploymentId: deployment.id })
  const { cursor } = await first.next()
  const others = Array.from({ length: 59 }, (_, i) =>
    subscribe({ deploymentId: deployment.id, after: i % 2 ? cursor : null }),
  )
  const pending = others.map((other, i) => (i % 2 ? null : other.next()))
  await Promise.all(pending)
  const asked = [first, ...others].map((stream) => stream.next())
  await Promise.all(others.map(({ begun }) => begun))
  const statements = await countStatements(app.app.database, async () => {
    await interrupt(deployment)
    for (const event of await Promise.all(asked))
      expect(event).toMatchObject({
        to: 'INTERRUPTED',
        revision: { status: 'INTERRUPTED', deployment: { name: 'shared' } },
      })
  })
  const ofTheStreams = statements.filter(
    (sql) => /FROM revisions d .* deployments .*/s.test(sql) && sql.includes('"name"'),
  )
  expect(ofTheStreams.length).toBeLessThanOrEqual(2)
  expect(ofTheStreams.length).toBeGreaterThan(0)
})

test('a subscriber never gets a result made for other rights or another workspace', async () => {
  const secrets = [{ name: 'TOKEN', value: 'hush-hush' }]
  const query = `subscription { revisionStatusChanged { to revision { deployment { name secrets { value } } } } }`
  const open = (key: string) => subscribe({}, { query, key })
  const reader = open(app.keys.secretsReader)
  const viewers = [open(app.keys.viewer), open(app.keys.viewer), open(app.keys.deployer)]
  const stranger = open(app.other.keys.admin)
  const all = [reader, ...viewers, stranger]
  const asked = all.map((stream) => stream.next())
  await Promise.all(all.map(({ begun }) => begun))
  await imageDeployment(app, { name: 'secretive', secrets })
  await imageDeployment(app, { name: 'theirs', secrets }, { key: app.other.keys.admin })
  const seen = (await Promise.all(asked)).map(({ revision: { deployment } }) => [
    deployment.name,
    deployment.secrets[0].value,
  ])
  const masked = ['secretive', '••••••••']
  expect(seen).toEqual([['secretive', 'hush-hush'], masked, masked, masked, ['theirs', 'hush-hush']])
})

test('a client that reconnects with Last-Event-ID continues after it, even if its URL still has `after`', async () => {
  await say('warm')
  const headers = { accept: 'text/event-stream', 'content-type': 'application/json', 'x-api-key': app.keys.viewer }
  const open = async (lastEventId: string | null) => {
    const controller = new AbortController()
    clients.push({ dispose: () => controller.abort() })
    const body = JSON.stringify({ query: RESUMED })
    const more: Record<string, string> = lastEventId === null ? {} : { 'last-event-id': lastEventId }
    const response = await fetch(`${app.url}/graphql`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body,
      signal: controller.signal,
    })
    let text = ''
    void (async () => {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk
    })().catch(() => undefined)
    return {
      ids: () => [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id!),
      messages: () => [...text.matchAll(/"message":"(.*?)"/g)].map(([, message]) => message!),
    }
  }
  const first = await open(null)
  // the client knows its start cursor before the first event
  await expect.poll(first.ids).toHaveLength(1)
  await say('1', '2', '3')
  await expect.poll(first.messages).toEqual(['1', '2', '3'])
  const [begin, , two] = first.ids()
  const fromTheBegin = await open(begin!)
  await expect.poll(fromTheBegin.messages).toEqual(['1', '2', '3'])
  const fromTwo = await open(two!)
  await expect.poll(fromTwo.messages).toEqual(['3'])
  const given = subscribe({ after: begin }, { headers: { 'last-event-id': two! } })
  expect((await given.next()).message).toBe('3')
  const wrong = subscribe({}, { headers: { 'last-event-id': 'nonsense' } })
  await expect(wrong.next()).rejects.toThrow('cursor_invalid')
})

test('many clients that reconnect with the same cursor read nothing from the database and miss nothing', async () => {
  const witness = subscribe()
  const waiting = witness.next()
  await witness.begun
  await say('0')
  const { cursor } = await waiting
  // in one transaction: with several, the last notice may arrive late and cause another read of the log
  await say('1', '2', '3', '4', '5')
  for (let i = 1; i <= 5; i++) await witness.next()
  const query = 'subscription ($after: String) { revisionStatusChanged(after: $after) { message } }'
  const statements = await countStatements(app.app.database, async () => {
    const storm = Array.from({ length: 200 }, () => subscribe({ after: cursor }, { query }))
    for (const stream of storm)
      for (const message of ['1', '2', '3', '4', '5']) expect((await stream.next()).message).toBe(message)
  })
  // the start of a stream, and the log
  expect(statements.filter((sql) => /AS gone|e\.sequence/.test(sql))).toEqual([])
})

test('a client that does not accept events gets a 406 and leaves no subscriber', async () => {
  const { status } = await app.rest('POST', '/graphql', {
    body: { query: 'subscription { revisionStatusChanged { to } }' },
    headers: { accept: 'application/json' },
  })
  expect(status).toBe(406)
  await expect.poll(inUse).toBe(0)
})

/** The number of the server's unsent bytes by stream. */
function watchServer() {
  const answers: http.ServerResponse[] = []
  app.app.fastify.server.on('request', (_request, answer: http.ServerResponse) => answers.push(answer))
  return () => answers.map((answer) => answer.socket?.writableLength ?? 0)
}

/** Opens a stream of the workspace. The caller starts reading. */
async function openUnread(after?: string): Promise<http.IncomingMessage> {
  const headers = { accept: 'text/event-stream', 'content-type': 'application/json', 'x-api-key': app.keys.viewer }
  const request = http.request(`${app.url}/graphql`, { method: 'POST', headers, agent: false })
  const query = 'subscription ($after: String) { revisionStatusChanged(after: $after) { cursor message } }'
  request.end(JSON.stringify({ query, variables: { after } }))
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return response
}

test('a slow client has a bounded buffer and resumes without loss after its stream was ended', async () => {
  const unsent = watchServer()
  const response = await openUnread()
  // large, so that the sockets' buffers fill fast
  const padding = 'x'.repeat(8_000)
  let said = 0
  while (inUse() > 0) {
    const messages = Array.from({ length: 250 }, () => `${said++} ${padding}`)
    await say(...messages)
    expect(Math.max(...unsent())).toBeLessThan(150_000)
  }

  const results = [...(await text(response)).matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!))
  const { errors } = results.pop()
  const heard = results.map(({ data }) => data.revisionStatusChanged)
  const { cursor } = heard.at(-1)
  expect(errors[0].extensions).toEqual({ code: 'STREAM_OVERFLOW', status: 503, retryable: true, cursor })
  expect(heard.map(({ message }) => Number.parseInt(message, 10))).toEqual(heard.map((_, i) => i))

  const again = await openUnread(cursor)
  let begun = ''
  for await (const chunk of again.setEncoding('utf8').iterator({ destroyOnReturn: true })) {
    begun += chunk
    const next = /"message":"(\d+) /.exec(begun)?.[1]
    if (next === undefined) continue
    expect(Number(next)).toBe(heard.length)
    break
  }
})
