/** Filters by deployment. The server searches by name. */
import { Select } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import { useQuery } from 'urql'
import { graphql } from '../../api/graphql.ts'

const nameQuery = graphql(`
  query NameOfDeployment($id: ID!) {
    deployment(id: $id) {
      id
      name
    }
  }
`)

const findQuery = graphql(`
  query DeploymentsToChoose($text: String) {
    deployments(first: 20, filter: { nameContains: $text }, orderBy: { field: UPDATED_AT, direction: DESC }) {
      nodes {
        id
        name
      }
    }
  }
`)

/** pause in typing before a search */
const DEBOUNCE_MS = 150

interface OfDeploymentProps {
  deployment: string | undefined
  onDeployment(id: string | undefined): void
}

export function DeploymentFilter({ deployment, onDeployment }: OfDeploymentProps) {
  const [wasOpened, setOpened] = useState(false)
  const [typed, setTyped] = useState('')
  const [text] = useDebouncedValue(typed.trim(), DEBOUNCE_MS)
  const [{ data: own }] = useQuery({
    query: nameQuery,
    variables: { id: deployment ?? '' },
    pause: deployment === undefined,
  })
  // a deleted deployment has events, but no name
  const chosen = deployment && { id: deployment, name: own?.deployment?.name ?? 'One deployment' }
  // the input also shows the chosen name, which was not typed
  const variables = { text: text === '' || (chosen && text === chosen.name) ? null : text }
  const [{ data }] = useQuery({ query: findQuery, variables, pause: !wasOpened, requestPolicy: 'cache-and-network' })
  const found = new Map((data?.deployments.nodes ?? []).map(({ id, name }) => [id, name]))
  if (chosen) found.set(chosen.id, chosen.name)
  return (
    <Select
      size="xs"
      w={190}
      aria-label="Deployment"
      placeholder="Any deployment"
      searchable
      clearable
      clearButtonProps={{ 'aria-label': 'Clear the deployment' }}
      nothingFoundMessage="No match"
      onDropdownOpen={() => setOpened(true)}
      searchValue={typed}
      onSearchChange={setTyped}
      // the server has filtered already
      filter={({ options }) => options}
      value={deployment ?? null}
      onChange={(value) => onDeployment(value ?? undefined)}
      data={[...found].map(([value, label]) => ({ value, label }))}
    />
  )
}
