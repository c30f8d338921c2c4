/** Watches: the changes of a kind since a version, one JSON object per line, until the client disconnects. */
import type { ServerResponse } from 'node:http'
import { groupVersion, type Kind } from './kinds.ts'
import type { KubeObject } from './objects.ts'
import { ApiError } from './status.ts'
import type { Change, Store } from './store.ts'

export interface WatchOptions {
  kind: Kind
  namespace: string | undefined
  /** by labels and fields */
  test: (object: KubeObject) => boolean
  /** resource version */
  from: number
  timeoutSeconds: number
}

/** Starts the response. It ends at the timeout or when the client disconnects. */
export function watch(store: Store, response: ServerResponse, options: WatchOptions): void {
  const { kind, namespace, test, from, timeoutSeconds } = options
  const send = (type: string, object: unknown) => response.write(`${JSON.stringify({ type, object })}\n`)
  response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
  if (from < store.forgotten) {
    send('ERROR', new ApiError(410, 'Expired', `too old resource version: ${from} (${store.forgotten})`).status)
    response.end()
    return
  }
  const isSelected = (object: KubeObject | null): boolean =>
    object !== null && object.metadata.namespace === namespace && test(object)
  const tell = (change: Change): void => {
    if (change.kind !== kind) return
    const was = isSelected(change.before)
    // an object that leaves the selection is a deletion for this client, one that enters is an addition
    const is = change.type !== 'DELETED' && isSelected(change.object)
    if (is) send(was ? 'MODIFIED' : 'ADDED', change.object)
    else if (was) send('DELETED', change.object)
  }
  for (const change of store.since(kind, from)) tell(change)
  const stop = store.onChange(tell)
  const end = setTimeout(() => {
    // a real server sends a last bookmark about a second before the timeout
    const metadata = { resourceVersion: String(store.version), creationTimestamp: null }
    send('BOOKMARK', { apiVersion: groupVersion(kind), kind: kind.kind, metadata })
    response.end()
  }, timeoutSeconds * 1000)
  response.on('close', () => {
    stop()
    clearTimeout(end)
  })
}
