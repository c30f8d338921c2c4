/** First and next buttons of a list that is paged by cursor. */
import { Button } from '@mantine/core'

interface PagingProps {
  /** the cursor before the page; null: the first page */
  after: string | null
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
  onAfter(after: string | null): void
  /** the buttons' labels */
  labels?: readonly [first: string, next: string]
}

/** Shows nothing when the list fits on one page. */
export function Paging({ after, pageInfo, onAfter, labels: [first, next] = ['Newest', 'Older'] }: PagingProps) {
  if (!pageInfo.hasNextPage && after === null) return null
  return (
    <Button.Group>
      <Button variant="default" disabled={after === null} onClick={() => onAfter(null)}>
        {first}
      </Button>
      <Button variant="default" disabled={!pageInfo.hasNextPage} onClick={() => onAfter(pageInfo.endCursor)}>
        {next}
      </Button>
    </Button.Group>
  )
}
