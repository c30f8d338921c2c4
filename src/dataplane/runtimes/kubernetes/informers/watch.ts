/**
 * One watch: a request whose answer is a line of JSON for each change, until the server ends it.
 *
 * Not the client's Watch: it opens a new Agent each time, loses events that have U+2028 in them (see platform/http/lines.ts) and
 * what the server says when it refuses, and waits for ever on a connection that died silently
 * (kubernetes-client/javascript#2432).
 */
import { splitLines } from '../../../../platform/http/lines.ts'
import type { Api } from '../api-server/api.ts'
import { ApiRefused, Unreachable } from '../api-server/errors.ts'
import { collectionPath, type Kind, SELECTOR } from '../api-server/kinds.ts'
import type { LiveObject } from '../objects/types.ts'

export interface WatchOptions {
  kind: Kind
  namespace: string
  /** changes after this version */
  from: string
  /** the server ends the watch then */
  seconds: number
  /** the server has accepted */
  onOpen: () => void
  /** `BOOKMARK`: nothing but a newer version, from which the next watch can go on */
  onEvent: (type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK', object: LiveObject) => void
}

/** characters: etcd keeps no object that is larger than a few MB */
const MAX_EVENT_CHARACTERS = 32 * 1024 * 1024

/** Resolves when the server ends it. Throws what Api.stream throws, 410 when `from` is too long ago, and errors of the connection. */
export async function watchOnce(api: Api, options: WatchOptions, signal: AbortSignal): Promise<void> {
  const { kind, namespace, from, seconds, onOpen, onEvent } = options
  const what = `watch ${kind.resource} in namespace "${namespace}"`
  const stream = await api.stream(
    {
      method: 'GET',
      path: collectionPath(kind, namespace),
      query: {
        watch: 'true',
        labelSelector: SELECTOR,
        resourceVersion: from,
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(seconds),
      },
      action: what,
    },
    signal,
  )
  onOpen()
  await splitLines(stream, MAX_EVENT_CHARACTERS, (line) => {
    const { type, object } = parsed(line)
    if (type !== 'ERROR') return onEvent(type, object)
    const { code, message = 'no reason given' } = object
    if (code === 410) throw new ApiRefused(410, 'Expired', message)
    throw new Unreachable(`The API server refused to ${what}: ${message}`)
  })
}

interface Event {
  type: Parameters<WatchOptions['onEvent']>[0] | 'ERROR'
  object: LiveObject & { code?: number; message?: string }
}

function parsed(line: string): Event {
  try {
    return JSON.parse(line) as Event
  } catch {
    // the connection was cut within it; what it said comes again
    throw new Unreachable('A watch was cut off')
  }
}
