/** Container logs over a network that is cut, and the warning events of a pod. */
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { KINDS } from '../../src/dataplane/kubernetes/api-server/kinds.ts'
import type { Cluster } from '../../src/dataplane/kubernetes/cluster/cluster.ts'
import { fence, manifestsOf, never, seen, usePlace } from './cluster-support.ts'

const place = usePlace()

/** A running pod and a function that prints in it. Only the stand-in can print on demand. */
async function running(cluster: Cluster, image = 'registry.example/agent:1') {
  const { deploymentId, secret, deployment } = manifestsOf(place.namespace)
  const container = { name: 'agent', image }
  const spec = deployment.spec as { template: { spec: object } }
  spec.template.spec = { containers: [container] }
  await cluster.apply(secret, fence(1n))
  await cluster.apply(deployment, fence(1n))
  await cluster.open(place.namespace, never)
  return await seen(cluster, () => {
    const pod = cluster.pods(deploymentId)[0]
    const state = pod?.status?.containerStatuses?.[0]?.state
    // a container has no log before that
    const created = state && state.waiting?.reason !== 'ContainerCreating'
    return created ? { ...pod, namespace: place.namespace, name: pod!.metadata!.name! } : undefined
  })
}

test('a followed log has each line once from its beginning, even across a cut connection', async ({ skip }) => {
  const { standIn } = place.cluster
  if (!standIn) return skip('a real pod prints what it wants')
  const { cluster, proxy } = await place.connectThroughProxy()
  const pod = await running(cluster)
  const lines: { line: string; at: Date; stamp: string }[] = []
  const follow = (after?: string) => {
    const onLine = (line: string, at: Date, stamp: string) => {
      // containers of the stand-in also print their own lines
      if (!line.startsWith('agent: ')) lines.push({ line, at, stamp })
    }
    return cluster.followLog(pod, 'agent', after === undefined ? {} : { after }, onLine, never)
  }
  // several lines in one millisecond have the same timestamp
  for (const text of ['one', 'two', 'größer \u2028', 'x'.repeat(50_000)]) standIn.print(pod, text)
  const first = follow()
  await expect.poll(() => lines.length).toBe(4)
  proxy.cut()
  await expect(first).rejects.toMatchObject({ name: 'Unreachable' })
  for (const text of ['\u001b[31mfive\u001b[0m', 'six']) standIn.print(pod, text)
  proxy.heal()
  const second = follow(lines.at(-1)!.stamp).catch((error: Error) => error.name)
  await expect.poll(() => lines.at(-1)!.line === 'six').toBe(true)
  const texts = lines.map(({ line }) => (line.startsWith('xx') ? 'long' : line))
  expect(texts).toEqual(['one', 'two', 'größer \u2028', 'long', '\u001b[31mfive\u001b[0m', 'six'])
  const long = lines.find(({ line }) => line.startsWith('xx'))!.line.length
  expect(long).toBeGreaterThan(8000)
  expect(long).toBeLessThanOrEqual(4 * 8192)
  expect(Math.abs(lines.at(-1)!.at.getTime() - Date.now())).toBeLessThan(60_000)
  await cluster.close()
  expect(await second).toBe('Unreachable')
})

test('a log can be limited to lines since a time or to the last lines', async ({ skip }) => {
  const { standIn } = place.cluster
  if (!standIn) return skip('a real pod prints what it wants')
  const cluster = await place.connect()
  const pod = await running(cluster)
  // the agent's start message comes first
  await expect.poll(() => standIn.object('Pod', pod.namespace, pod.name)?.status.containerStatuses[0].ready).toBe(true)
  for (let n = 0; n < 20; n++) standIn.print(pod, `line ${n}`)
  const read = async (options: object, enough: number) => {
    const lines: string[] = []
    const stop = new AbortController()
    const done = cluster.followLog(pod, 'agent', options, (line) => lines.push(line), stop.signal)
    await expect.poll(() => lines.length).toBeGreaterThanOrEqual(enough)
    stop.abort()
    await done
    return lines
  }
  expect(await read({ tailLines: 2 }, 2)).toEqual(['line 18', 'line 19'])
  expect(await read({ since: new Date(Date.now() - 60_000) }, 20)).toContain('line 0')
  const later = new Date(Date.now() + 5)
  await expect.poll(() => Date.now()).toBeGreaterThan(later.getTime())
  standIn.print(pod, 'later')
  expect(await read({ since: later }, 1)).toEqual(['later'])
})

test('following a log ends when the pod is gone, and is refused for a missing pod', async () => {
  const cluster = await place.connect()
  const pod = await running(cluster)
  const owner = cluster
    .objects(pod.metadata!.labels!['pilothouse.dev/deployment-id']!)
    .find(({ kind }) => kind === 'Deployment')!
  const ended = cluster.followLog(pod, 'agent', {}, () => undefined, never).catch(String)
  await cluster.remove(owner, fence(1n), 'Foreground')
  await ended
  await seen(cluster, () => cluster.pods(pod.metadata!.labels!['pilothouse.dev/deployment-id']!).length === 0)
  const again = cluster.followLog(pod, 'agent', {}, () => undefined, never)
  await expect(again).rejects.toMatchObject({ name: 'ApiRefused', status: 404 })
})

test('a container that has not started has no log yet', async () => {
  const cluster = await place.connect()
  const pod = await running(cluster, 'registry.example/agent:bad')
  const follow = cluster.followLog(pod, 'agent', {}, () => undefined, never)
  await expect(follow).rejects.toMatchObject({ name: 'ApiRefused', status: 400 })
})

test('warnings about a pod are readable, the newest first', async () => {
  const cluster = await place.connect()
  const pod = await running(cluster, 'registry.example/agent:bad')
  await expect
    .poll(() => cluster.warnings(place.namespace, pod.metadata!.uid!), { timeout: 20_000 })
    .toContainEqual(expect.stringMatching(/^Failed: .*registry\.example\/agent:bad/))
})

test('a node that can’t return its logs does not count as an API server outage', async ({ skip }) => {
  const { standIn, minor } = place.cluster
  if (!standIn) return skip('only in front of a stand-in')
  skip(minor < 21, 'two of the kinds are there from 1.21 on')
  let watches = 0
  const front = http.createServer((request, response) => {
    const { url = '', method, headers } = request
    if (url.includes('/log?')) return
    if (url.includes('watch=true')) watches++
    const behind = http.request(standIn.url + url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers).flushHeaders()
      answer.pipe(response)
    })
    // the test aborts a call that has no answer yet
    behind.on('error', () => response.destroy())
    response.on('close', () => behind.destroy())
    request.pipe(behind)
  })
  await once(front.listen(0, '127.0.0.1'), 'listening')
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-logs-'))
  const kubeconfig = path.join(folder, 'config')
  await writeFile(kubeconfig, standIn.kubeconfig(`http://127.0.0.1:${(front.address() as AddressInfo).port}`))
  const cluster = await place.connect({ kubeconfig, times: { call: 2000 } })
  const pod = await running(cluster)
  await expect.poll(() => watches).toBe(KINDS.filter(({ rare }) => !rare).length)
  await expect(cluster.followLog(pod, 'agent', {}, () => undefined, never)).rejects.toThrow('did not answer in time')
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(watches).toBe(KINDS.filter(({ rare }) => !rare).length)
  expect(cluster.problem()).toBeNull()
  await cluster.close()
  front.closeAllConnections()
  front.close()
  await rm(folder, { recursive: true })
})
