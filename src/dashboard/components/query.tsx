/** A query and what it is shown as: waiting, wrong, or there. What was shown stays while it is read again. */
import type { ReactNode } from 'react'
import type { CombinedError } from 'urql'
import { Loading, PageError } from './page.tsx'

interface QueryViewProps<Data> {
  /** the first two of what `useQuery` answers */
  query: readonly [
    { data?: Data; error?: CombinedError; fetching: boolean },
    (options?: { requestPolicy: 'network-only' }) => void,
  ]
  waiting?: ReactNode
  children: (data: Data) => ReactNode
}

export function QueryView<Data>({ query: [{ data, error }, again], waiting, children }: QueryViewProps<Data>) {
  if (data) return children(data)
  if (error) return <PageError error={error} retry={() => again({ requestPolicy: 'network-only' })} />
  return waiting ?? <Loading />
}
