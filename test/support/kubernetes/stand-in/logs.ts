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
  previous: Line[]
  /** the container has ended, so followers have the whole log */
  ended: boolean
  /** called with null at the end */
  followers: Set<(line: Line | null) => void>
}

export class Logs {
  readonly #outputs = new Map<string, Output>()

  #outputOf(uid: string, container: string): Output {
    const key = `${uid}/${container}`
    const output = this.#outputs.get(key) ?? { lines: [], previous: [], ended: true, followers: new Set() }
    this.#outputs.set(key, output)
    return output
  }

  /** A run of the container starts. */
  start(uid: string, container: string): void {
    const output = this.#outputOf(uid, container)
    output.previous = output.lines
    output.lines = []
    output.ended = false
  }

  print(uid: string, container: string, text: string): void {
    const output = this.#outputOf(uid, container)
    const line = { at: Date.now(), text }
    output.lines.push(line)
    for (const follower of output.followers) follower(line)
  }

  end(uid: string, container: string): void {
    const output = this.#outputOf(uid, container)
    output.ended = true
    for (const follower of output.followers) follower(null)
  }

  /** Responds to a GET of a pod's /log. */
  serve({ metadata, status }: KubeObject, query: URLSearchParams, response: ServerResponse): void {
    const container = query.get('container') ?? ''
    const previous = query.get('previous') === 'true'
    const found = status?.containerStatuses?.find((one: Json) => one.name === container)
    if (!found || (found.state.waiting && !found.lastState.terminated))
      throw badRequest(`container "${container}" in pod "${metadata.name}" is waiting to start`)
    const output = this.#outputOf(metadata.uid, container)
    const since = Date.parse(query.get('sinceTime') ?? '') || 0
    const lines = (previous ? output.previous : output.lines).filter(({ at }) => at >= since)
    // with nanoseconds, as kubelets print it
    const text = (line: Line) => `${new Date(line.at).toISOString().replace('Z', '000000Z')} ${line.text}\n`
    response.writeHead(200, { 'content-type': 'text/plain' }).flushHeaders()
    for (const line of lines.slice(-Number(query.get('tailLines') ?? 0))) response.write(text(line))
    if (query.get('follow') !== 'true' || output.ended) return void response.end()
    const follower = (line: Line | null): void => {
      if (line) response.write(text(line))
      else response.end()
    }
    output.followers.add(follower)
    response.on('close', () => output.followers.delete(follower))
  }
}
