/** One watch: one line of JSON per change until the server ends it. See README.md for why not the library's Watch. */
import { splitLines } from '../../../platform/http/lines.ts'
import type { Api } from '../api-server/api.ts'
import { ApiRefused, Unreachable } from '../api-server/errors.ts'
import { collectionPath, type Kind, SELECTOR } from '../api-server/kinds.ts'
import type { LiveObject } from '../objects/types.ts'

export interface WatchOptions {
  kind: Kind
  namespace: string
  from: string
  /** seconds until the server ends the watch */
  seconds: number
  onOpen: () => void
  /** `BOOKMARK`: only a newer resource version for the next watch */
  onEvent: (type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK', object: LiveObject) => void
}

/** characters; etcd stores no object above a few MB */
const MAX_EVENT_CHARACTERS = 32 * 1024 * 1024

/** Resolves when the server ends the watch. Throws like Api.stream; 410 when `from` is too old. */
export async function watchOnce(api: Api, options: WatchOptions, signal: AbortSignal): Promise<void> {
  const { kind, namespace, from, seconds, onOpen, onEvent } = options
  const action = `watch ${kind.resource} in namespace "${namespace}"`
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
      action,
    },
    signal,
  )
  onOpen()
  await splitLines(stream, MAX_EVENT_CHARACTERS, (line) => {
    const { type, object } = parsed(line)
    if (type !== 'ERROR') return onEvent(type, object)
    const { code, message = 'no reason given' } = object
    if (code === 410) throw new ApiRefused(410, 'Expired', message)
    throw new Unreachable(`The API server refused to ${action}: ${message}`)
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
    // the connection was cut within a line; the next watch repeats the event
    throw new Unreachable('A watch was cut off')
  }
}
