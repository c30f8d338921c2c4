/** Watches: the changes of a kind since a version, one JSON object per line, until the client disconnects. */
import type { ServerResponse } from 'node:http'
import { groupVersion, type Kind } from './kinds.ts'
import type { KubeObject } from './objects.ts'
import { gone } from './status.ts'
import type { Change, Store } from './store.ts'

export interface WatchOptions {
  kind: Kind
  namespace: string | undefined
  /** by labels and fields */
  test: (object: KubeObject) => boolean
  /** null or '0': starts with the existing objects */
  resourceVersion: string | null
  bookmarks: boolean
  timeoutSeconds: number | null
}

/** Starts the response. It ends at the timeout or when the client disconnects. */
export function watch(store: Store, response: ServerResponse, options: WatchOptions): void {
  const { kind, namespace, test, resourceVersion, bookmarks, timeoutSeconds } = options
  const send = (type: string, object: unknown) => response.write(`${JSON.stringify({ type, object })}\n`)
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' })
  response.flushHeaders()

  const from = Number(resourceVersion ?? 0)
  if (from !== 0 && from < store.forgotten) {
    const { status } = gone(`too old resource version: ${from} (${store.forgotten})`)
    send('ERROR', status)
    response.end()
    return
  }
  const mine = (object: KubeObject | null): boolean =>
    object !== null && (namespace === undefined || object.metadata.namespace === namespace) && test(object)
  const tell = (change: Change): void => {
    if (change.kind !== kind) return
    const was = mine(change.before)
    // an object that leaves the selection is a deletion for this client, one that enters is an addition
    const is = change.type !== 'DELETED' && mine(change.object)
    if (is) send(was ? 'MODIFIED' : 'ADDED', change.object)
    else if (was) send('DELETED', change.object)
  }
  if (from === 0) {
    for (const object of store.list(kind, namespace)) if (test(object)) send('ADDED', object)
  } else {
    for (const change of store.since(kind, from)) tell(change)
  }
  const bookmark = () =>
    send('BOOKMARK', {
      apiVersion: groupVersion(kind),
      kind: kind.kind,
      metadata: { resourceVersion: String(store.version), creationTimestamp: null },
    })
  const stop = store.onChange(tell)
  const seconds = timeoutSeconds ?? 1800
  const end = setTimeout(() => {
    // a real server sends a last bookmark about a second before the timeout
    if (bookmarks) bookmark()
    response.end()
  }, seconds * 1000)
  const everyMinute = bookmarks ? setInterval(bookmark, 60_000) : undefined
  response.on('close', () => {
    stop()
    clearTimeout(end)
    clearInterval(everyMinute)
  })
}
