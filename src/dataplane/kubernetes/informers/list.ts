/** Lists all objects of Pilothouse of one kind in one namespace. */

import type { Api } from '../api-server/api.ts'
import { collectionPath, type Kind, SELECTOR } from '../api-server/kinds.ts'
import type { LiveObject } from '../objects/types.ts'

interface Page {
  metadata: { resourceVersion: string; continue?: string }
  items: LiveObject[]
}

const PAGE_SIZE = 500

/** Calls `put` per object; returns the version to watch from. Throws like Api.call; 410 when it took too long. */
export async function listAll(
  api: Api,
  kind: Kind,
  namespace: string,
  put: (object: LiveObject) => void,
  signal: AbortSignal,
): Promise<string> {
  for (let next: string | undefined; ; ) {
    const page: Page = await api.call<Page>(
      {
        method: 'GET',
        path: collectionPath(kind, namespace),
        query: { labelSelector: SELECTOR, limit: String(PAGE_SIZE), continue: next },
        action: `list ${kind.resource} in namespace "${namespace}"`,
        secret: kind.kind === 'Secret',
      },
      signal,
    )
    // items of a list have no kind or apiVersion
    for (const item of page.items) put({ ...item, apiVersion: kind.apiVersion, kind: kind.kind })
    next = page.metadata.continue || undefined
    if (!next) return page.metadata.resourceVersion
  }
}
