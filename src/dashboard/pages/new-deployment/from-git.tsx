/** A deployment of a repository, which is searched at the provider while one types. */
import { Autocomplete, Checkbox, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from 'urql'
import { graphql } from '../../api/graphql.ts'
import { suggestName } from './draft.ts'
import type { FieldsProps } from './fields.ts'

const repositoriesQuery = graphql(`
  query RepositoriesToDeploy($search: String) {
    gitIntegrations {
      id
      name
      kind
      suspended
      repositories(first: 20, search: $search) {
        nodes {
          owner
          name
          url
          defaultBranch
          integrationId
        }
      }
    }
  }
`)

const isUrl = (text: string) => /^([a-z+]+:\/\/|git@)/.test(text)

export function FromGit({ draft, onChange, wrong }: FieldsProps) {
  const [search] = useDebouncedValue(draft.repoUrl, 250)
  const [{ data, fetching }] = useQuery({
    query: repositoriesQuery,
    // an address that is whole is no name to search for
    variables: { search: isUrl(search) ? null : search || null },
  })
  const integrations = data?.gitIntegrations ?? []
  const found = integrations.flatMap(({ repositories }) => repositories?.nodes ?? [])
  const chosen = integrations.find(({ id }) => id === draft.integrationId)
  const away = integrations.filter(({ repositories, suspended }) => !repositories && !suspended)

  const type = (text: string) => {
    const repository = found.find(({ url }) => url === text)
    onChange({
      repoUrl: text,
      // any public repository is reached through the server's own
      integrationId: repository?.integrationId ?? integrations.find(({ kind }) => kind === 'directory')?.id ?? null,
      ...(repository && { repoRef: repository.defaultBranch }),
      ...(draft.isNameDerived && { name: isUrl(text) ? suggestName(text) : '' }),
    })
  }
  return (
    <Stack gap="sm">
      <Autocomplete
        label="Repository"
        description="Type a part of its name, or the address of a public one."
        placeholder="acme/agent, or https://…"
        value={draft.repoUrl}
        error={wrong.repoUrl ?? wrong.integrationId}
        onChange={type}
        data={integrations
          .filter(({ repositories }) => repositories?.nodes.length)
          .map(({ name, repositories }) => ({ group: name, items: repositories!.nodes.map(({ url }) => url) }))}
        renderOption={({ option }) => {
          const one = found.find(({ url }) => url === option.value)
          return (
            <Stack gap={0}>
              <Text size="sm">{one ? [one.owner, one.name].filter(Boolean).join('/') : option.value}</Text>
              <Text size="xs" c="dimmed">
                {option.value}
              </Text>
            </Stack>
          )
        }}
        filter={({ options }) => options}
        maxDropdownHeight={320}
        spellCheck={false}
        required
      />
      {!fetching && data && integrations.length === 0 && (
        <Text size="xs" c="dimmed">
          No git integration is connected yet: an admin connects one on the page Integrations.
        </Text>
      )}
      {away.length > 0 && (
        <Text size="xs" c="dimmed" role="status">
          {away.map(({ name }) => name).join(', ')} can’t be asked at the moment.
        </Text>
      )}
      <TextInput
        label="Branch or tag"
        description="A branch by its name, a tag as refs/tags/…"
        placeholder="main"
        value={draft.repoRef}
        error={wrong.repoRef}
        onChange={({ currentTarget }) => onChange({ repoRef: currentTarget.value })}
        autoComplete="off"
        spellCheck={false}
        required
      />
      {chosen?.kind === 'app' && (
        <Checkbox
          label="Build each push to this branch"
          checked={draft.buildOnPush}
          error={wrong.buildOnPush}
          onChange={({ currentTarget }) => onChange({ buildOnPush: currentTarget.checked })}
        />
      )}
    </Stack>
  )
}
