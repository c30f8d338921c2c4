/**
 * A thousand calls that wait for one revision (`?wait=60`), on a separate server with default settings: their cost
 * while nothing happens, and the time until the last one is answered.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { pause } from '../place/processes.ts'
import { startServer } from '../place/server.ts'
import { caller, say } from './support.ts'

const WAITS = 1_000
const IDLE_SECONDS = 10
const SETTLING_MS = 3_000
const OPENING_TIMEOUT_MS = 30_000
/** Pause in ms before a refused call tries again. */
const RETRY_PAUSE_MS = 1_000

export async function waits(): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-bench-'))
  const server = await startServer(folder, null)
  try {
    await measure(server.url, server.key)
  } finally {
    await server.end()
    await rm(folder, { recursive: true, force: true })
  }
}

async function measure(url: string, key: string): Promise<void> {
  const call = caller(() => url, key)
  const { id, latest_revision_id } = await call('POST', '/v2/deployments', {
    name: 'bench',
    source: 'external_container',
    source_config: {},
    source_revision_config: { image_uri: 'registry.example.com/agent:1' },
    secrets: [],
  })
  const revision = `/v2/deployments/${id}/revisions/${latest_revision_id}`
  const before = await cpuWhileIdle(url)
  // separate connections, as of a thousand pipelines
  const agent = new http.Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY })
  const opening = performance.now()
  // on a busy machine some calls must retry, because they share one key
  const waiting = Array.from({ length: WAITS }, () => answered(`${url}${revision}?wait=60`, key, agent, opening))
  let early: string | null = null
  for (const one of waiting)
    one.then(
      ({ text }) => {
        early = text
      },
      (error) => {
        early = String(error)
      },
    )
  while ((await metric(url, 'pilothouse_waits{of="people"}')) < WAITS) {
    // a longer pause would let the first calls time out before the change
    if (performance.now() - opening > OPENING_TIMEOUT_MS)
      throw new Error('this machine is too busy for the bench of waits')
    if (early !== null) throw new Error(`a wait was over before the change: ${early}`)
    await pause(50)
  }
  const during = await cpuWhileIdle(url)
  const began = performance.now()
  await call('POST', `${revision}/interrupt`)
  const changed = performance.now()
  const all = await Promise.all(waiting)
  const wrong = all.filter(({ text }) => !text.includes('"status":"INTERRUPTED"')).length
  const last = Math.max(...all.map(({ at }) => at))
  const ms = (from: number) => Math.round(last - from)
  say(`${WAITS} waits: CPU of the server while nothing happens, of one core`, `${during} % (without: ${before} %)`)
  say(
    `${WAITS} waits: the last is answered after the change was`,
    `${ms(changed)} (${ms(began)} after it was asked for)`,
  )
  if (wrong > 0) say(`${WAITS} waits: answered wrong`, String(wrong))
}

/** Per cent of one core, with one decimal. */
async function cpuWhileIdle(url: string): Promise<number> {
  await pause(SETTLING_MS)
  const [began, before] = [performance.now(), await metric(url, 'process_cpu_seconds_total')]
  await pause(IDLE_SECONDS * 1000)
  const used = (await metric(url, 'process_cpu_seconds_total')) - before
  return Math.round((used / (performance.now() - began)) * 1_000_000) / 10
}

async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1) ?? 0)
}

interface Answer {
  status: number
  text: string
  at: number
}

/**
 * Returns the answer and the time when it was complete. A call that is refused for now retries until the opening has
 * ended.
 */
async function answered(url: string, key: string, agent: http.Agent, opening: number): Promise<Answer> {
  for (;;) {
    const answer = await ask(url, key, agent)
    const sentAway = answer.status === 429 || answer.status === 503
    if (!sentAway || performance.now() - opening > OPENING_TIMEOUT_MS) return answer
    await pause(RETRY_PAUSE_MS)
  }
}

function ask(url: string, key: string, agent: http.Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent, headers: { 'x-api-key': key } }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode!, text, at: performance.now() }))
    })
    request.on('error', reject)
  })
}
