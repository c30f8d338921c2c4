/** Reports new events to a list, at most once per interval. */
import { useEffect, useRef } from 'react'
import { useSubscription } from 'urql'
import { graphql, type VariablesOf } from '../api/graphql.ts'

const eventsSubscription = graphql(`
  subscription ActivityNews($after: String, $types: [String!], $deploymentId: ID) {
    events(after: $after, types: $types, deploymentId: $deploymentId) {
      cursor
    }
  }
`)

const MIN_INTERVAL_MS = 1_000

/** `onNews`: null turns the subscription off. */
export function useNewEvents(
  { types, deploymentId }: Pick<VariablesOf<typeof eventsSubscription>, 'types' | 'deploymentId'>,
  onNews: (() => void) | null,
): void {
  const tell = useRef(onNews)
  tell.current = onNews
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const [{ data }] = useSubscription({
    query: eventsSubscription,
    variables: { after: null, types, deploymentId },
    pause: onNews === null,
  })
  const cursor = data?.events.cursor
  useEffect(() => {
    if (cursor === undefined) return
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      tell.current?.()
    }, MIN_INTERVAL_MS)
  }, [cursor])
  useEffect(() => () => clearTimeout(timer.current), [])
}
