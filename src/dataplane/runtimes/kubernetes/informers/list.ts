/**
 * Lists all our objects of one kind in one namespace.
 */

import type { Api } from '../api-server/api.ts'
import { collectionPath, type Kind, SELECTOR } from '../api-server/kinds.ts'
import type { LiveObject } from '../objects/types.ts'

interface Page {
  metadata: { resourceVersion: string; continue?: string }
  items: LiveObject[]
}

/** objects in one answer */
const PAGE_SIZE = 500

/** `put` is called for each. Answers the version from which a watch goes on. Throws what Api.call throws, with 410 when it took too long. */
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
    // items of a list don't say what they are
    for (const item of page.items) put({ ...item, apiVersion: kind.apiVersion, kind: kind.kind })
    next = page.metadata.continue || undefined
    if (!next) return page.metadata.resourceVersion
  }
}
