/** Output of containers, by pod and container, and the `/log` subresource. */
import type { ServerResponse } from 'node:http'
import type { Json, KubeObject } from './objects.ts'
import { badRequest } from './status.ts'

interface Line {
  at: number
  text: string
}

interface Output {
  lines: Line[]
  /** output of the run before the last restart */
  previous: Line[] | null
  /** the container has ended, so followers have the whole log */
  ended: boolean
  followers: Set<(line: Line | null) => void>
}

export class Logs {
  readonly #outputs = new Map<string, Output>()

  #outputOf(uid: string, container: string): Output {
    const key = `${uid}/${container}`
    const output = this.#outputs.get(key) ?? { lines: [], previous: null, ended: true, followers: new Set() }
    this.#outputs.set(key, output)
    return output
  }

  start(uid: string, container: string, restart: boolean): void {
    const output = this.#outputOf(uid, container)
    if (restart) {
      output.previous = output.lines
      output.lines = []
    }
    output.ended = false
  }

  print(uid: string, container: string, text: string): void {
    const output = this.#outputOf(uid, container)
    const line = { at: Date.now(), text }
    output.lines.push(line)
    for (const follower of [...output.followers]) follower(line)
  }

  end(uid: string, container: string): void {
    const output = this.#outputOf(uid, container)
    output.ended = true
    for (const follower of [...output.followers]) follower(null)
  }

  /** The last lines, as in a termination message. */
  tail(uid: string, container: string): string {
    return this.#outputOf(uid, container)
      .lines.slice(-80)
      .map(({ text }) => text)
      .join('\n')
  }

  forget(uid: string): void {
    for (const [key, output] of this.#outputs) {
      if (!key.startsWith(`${uid}/`)) continue
      for (const follower of [...output.followers]) follower(null)
      this.#outputs.delete(key)
    }
  }

  /** Responds to a GET of a pod's /log. */
  serve(pod: KubeObject, query: URLSearchParams, response: ServerResponse): void {
    const container = chosen(pod, query.get('container'))
    const previous = query.get('previous') === 'true'
    refuseUnlessStarted(pod, container, previous)
    const output = this.#outputOf(pod.metadata.uid, container)
    const since = query.get('sinceTime')
      ? Date.parse(query.get('sinceTime')!)
      : query.get('sinceSeconds')
        ? Date.now() - Number(query.get('sinceSeconds')) * 1000
        : 0
    const stamps = query.get('timestamps') === 'true'
    const text = (line: Line) =>
      `${stamps ? `${new Date(line.at).toISOString().replace('Z', '000000Z')} ` : ''}${line.text}\n`
    const tail = query.get('tailLines')
    let lines = (previous ? (output.previous ?? []) : output.lines).filter((line) => line.at >= since)
    if (tail !== null) lines = Number(tail) === 0 ? [] : lines.slice(-Number(tail))
    response.writeHead(200, { 'content-type': 'text/plain' })
    for (const line of lines) response.write(text(line))
    if (query.get('follow') !== 'true' || previous || output.ended) {
      response.end()
      return
    }
    response.flushHeaders()
    const follower = (line: Line | null): void => {
      if (line) response.write(text(line))
      else response.end()
    }
    output.followers.add(follower)
    response.on('close', () => output.followers.delete(follower))
  }
}

function chosen({ metadata, spec }: KubeObject, requested: string | null): string {
  const containers: string[] = spec.containers.map((c: Json) => c.name)
  const init: string[] = (spec.initContainers ?? []).map((c: Json) => c.name)
  if (requested) {
    if ([...containers, ...init].includes(requested)) return requested
    throw badRequest(`container ${requested} is not valid for pod ${metadata.name}`)
  }
  if (containers.length === 1) return containers[0]!
  const init_ = init.length > 0 ? ` or one of the init containers: [${init.join(' ')}]` : ''
  throw badRequest(
    `a container name must be specified for pod ${metadata.name}, choose one of: [${containers.join(' ')}]${init_}`,
  )
}

function refuseUnlessStarted({ metadata, spec, status }: KubeObject, container: string, previous: boolean): void {
  if (!spec.nodeName) throw badRequest(`pod ${metadata.name} does not have a host assigned`)
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]
  const state = statuses.find((s: Json) => s.name === container)
  if (previous && !state?.lastState?.terminated) {
    throw badRequest(`previous terminated container "${container}" in pod "${metadata.name}" not found`)
  }
  const waiting = state?.state?.waiting
  if (previous || (state && !waiting) || state?.lastState?.terminated) return
  const reason = waiting?.reason ?? 'ContainerCreating'
  const why = ['ErrImagePull', 'ImagePullBackOff'].includes(reason)
    ? `trying and failing to pull image`
    : `is waiting to start: ${reason}`
  throw badRequest(
    why.startsWith('is')
      ? `container "${container}" in pod "${metadata.name}" ${why}`
      : `container "${container}" in pod "${metadata.name}" is waiting to start: ${why}`,
  )
}
