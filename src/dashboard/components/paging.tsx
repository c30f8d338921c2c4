/** The buttons below one page of a list that is read by cursor. */
import { Button } from '@mantine/core'

interface PagingProps {
  /** the cursor that the page begins behind; null: it is the first */
  after: string | null
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
  onAfter(after: string | null): void
  /** what the buttons say */
  labels?: readonly [first: string, next: string]
}

/** Nothing where all of it is on one page. */
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
