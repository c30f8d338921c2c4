/** Tells a list of events that there is something new: from the live log, a few times a second at most. */
import { useEffect, useRef } from 'react'
import { useSubscription } from 'urql'
import { graphql, type VariablesOf } from '../api/graphql.ts'

const newsSubscription = graphql(`
  subscription ActivityNews($after: String, $types: [String!], $deploymentId: ID) {
    events(after: $after, types: $types, deploymentId: $deploymentId) {
      cursor
    }
  }
`)

/** ms between two looks */
const PAUSE = 1_000

/** `onNews` null: nobody has to be told. */
export function useNews(
  { types, deploymentId }: Pick<VariablesOf<typeof newsSubscription>, 'types' | 'deploymentId'>,
  onNews: (() => void) | null,
): void {
  const tell = useRef(onNews)
  tell.current = onNews
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const [{ data }] = useSubscription({
    query: newsSubscription,
    variables: { after: null, types, deploymentId },
    pause: onNews === null,
  })
  const cursor = data?.events.cursor
  useEffect(() => {
    if (cursor === undefined) return
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      tell.current?.()
    }, PAUSE)
  }, [cursor])
  useEffect(() => () => clearTimeout(timer.current), [])
}
