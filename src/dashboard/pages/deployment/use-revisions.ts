/**
 * The revisions of the timeline: the newest come with the page, older pages on request. Older pages are read again after
 * each change of the deployment, because an old revision may have been redeployed.
 */
import { useEffect, useRef, useState } from 'react'
import { useClient } from 'urql'
import { useDeploymentRefresh } from '../../components/refresh.ts'
import { olderQuery, type ShownDeployment, type TimelineRevision } from './documents.ts'

interface Older {
  pages: number
  /** includes the newest ones of that time, because one of them may have left the newest page since */
  revisions: TimelineRevision[]
  hasMore: boolean
}

/** `more` reads the next page; null: there is none. */
export function useRevisions({ id, newest }: ShownDeployment): {
  revisions: TimelineRevision[]
  more: (() => Promise<void>) | null
  busy: boolean
} {
  const client = useClient()
  const [older, setOlder] = useState<Older>({ pages: 0, revisions: [], hasMore: newest.pageInfo.hasNextPage })
  const [busy, setBusy] = useState(false)
  // of two concurrent reads the later one wins
  const turn = useRef(0)
  const read = async (pages: number) => {
    const own = ++turn.current
    const revisions = [...newest.nodes]
    let page = newest.pageInfo
    for (let i = 0; i < pages && page.hasNextPage; i++) {
      const variables = { id, after: page.endCursor }
      const { data } = await client.query(olderQuery, variables, { requestPolicy: 'network-only' }).toPromise()
      if (!data?.deployment || own !== turn.current) return
      revisions.push(...data.deployment.revisions.nodes)
      page = data.deployment.revisions.pageInfo
    }
    setOlder({ pages, revisions, hasMore: page.hasNextPage })
  }
  const again = () => older.pages > 0 && void read(older.pages)
  useDeploymentRefresh(id, again)
  // biome-ignore lint/correctness/useExhaustiveDependencies: older pages start where the newest page ends
  useEffect(() => void again(), [newest.pageInfo.endCursor])
  const more = async () => {
    setBusy(true)
    await read(older.pages + 1)
    setBusy(false)
  }
  // the newest page is fresher
  const all = new Map(older.revisions.map((one) => [one.id, one]))
  for (const one of newest.nodes) all.set(one.id, one)
  const hasMore = older.pages > 0 ? older.hasMore : newest.pageInfo.hasNextPage
  return {
    revisions: [...all.values()].sort((a, b) => b.number - a.number),
    more: hasMore ? more : null,
    busy,
  }
}
