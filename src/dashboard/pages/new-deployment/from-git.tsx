/** Fields of a deployment from a repository, which is searched at the provider during typing. */
import { Autocomplete, Checkbox, Stack, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from 'urql'
import { graphql } from '../../api/graphql.ts'
import { suggestName } from './draft.ts'
import type { PartProps } from './more-fields.tsx'
import { Field } from './more-fields.tsx'

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

export function FromGit({ form }: PartProps) {
  const { repoUrl, integrationId, isNameDerived } = form.values
  const [search] = useDebouncedValue(repoUrl, 250)
  const [{ data, fetching }] = useQuery({
    query: repositoriesQuery,
    // a complete URL is not a search term
    variables: { search: isUrl(search) ? null : search || null },
  })
  const integrations = data?.gitIntegrations ?? []
  const found = integrations.flatMap(({ repositories }) => repositories?.nodes ?? [])
  const chosen = integrations.find(({ id }) => id === integrationId)
  const unavailable = integrations.filter(({ repositories, suspended }) => !repositories && !suspended)

  const type = (text: string) => {
    const repository = found.find(({ url }) => url === text)
    form.setValues({
      repoUrl: text,
      // the server's own integration reads any public repository
      integrationId: repository?.integrationId ?? integrations.find(({ kind }) => kind === 'directory')?.id ?? '',
      ...(repository && { repoRef: repository.defaultBranch }),
      ...(isNameDerived && { name: isUrl(text) ? suggestName(text) : '' }),
    })
  }
  return (
    <Stack gap="sm">
      <Autocomplete
        label="Repository"
        description="Search by name, or paste the URL of a public repository."
        placeholder="acme/agent or https://…"
        {...form.getInputProps('repoUrl')}
        error={form.errors.repoUrl ?? form.errors.integrationId}
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
          No git integration is connected. An admin can connect one under Integrations.
        </Text>
      )}
      {unavailable.length > 0 && (
        <Text size="xs" c="dimmed" role="status">
          {unavailable.map(({ name }) => name).join(', ')} can’t be reached at the moment.
        </Text>
      )}
      <Field
        label="Branch or tag"
        description="A branch name, or a tag as refs/tags/…"
        placeholder="main"
        {...form.getInputProps('repoRef')}
        required
      />
      {chosen?.kind === 'app' && (
        <Checkbox
          label="Build every push to this branch"
          {...form.getInputProps('buildOnPush', { type: 'checkbox' })}
        />
      )}
    </Stack>
  )
}
