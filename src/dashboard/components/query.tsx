/** Shows a query's loading state, error or data. Old data stays visible during a reload. */
import type { ReactNode } from 'react'
import type { CombinedError } from 'urql'
import { Loading, PageError } from './page.tsx'

interface QueryViewProps<Data> {
  /** the first two results of `useQuery` */
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
