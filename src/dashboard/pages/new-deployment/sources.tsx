/** Fields of a deployment from a repository, which is searched at the provider during typing, or from an image. */
import { Autocomplete, Checkbox, NativeSelect, Stack, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useEffect } from 'react'
import { useQuery } from 'urql'
import { graphql } from '../../api/graphql.ts'
import { useMe } from '../../components/me.ts'
import { suggestName } from './draft.ts'
import { Field, type PartProps } from './more-fields.tsx'

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

const listenersQuery = graphql(`
  query ListenersToRunIt {
    listeners(first: 100) {
      nodes {
        id
        computeId
        status
        computeConfig {
          k8sNamespaces
        }
      }
    }
  }
`)

/** Fields of a deployment from an image: the image and its cluster. */
export function FromImage({ form }: PartProps) {
  const { listenerId, isNameDerived } = form.values
  const hasListeners = useMe()?.organization.plan === 'self_hosted_enterprise'
  const [{ data }] = useQuery({ query: listenersQuery, pause: !hasListeners })
  const listeners = data?.listeners.nodes ?? []
  const choose = (listenerId: string) => {
    const [first, ...others] = listeners.find(({ id }) => id === listenerId)?.computeConfig.k8sNamespaces ?? []
    // with a single namespace, the server needs none
    form.setValues({ listenerId, namespace: others.length > 0 ? first! : '' })
  }
  const only = listeners.length === 1 && listenerId === '' ? listeners[0]!.id : null
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when there is only one listener
  useEffect(() => {
    if (only) choose(only)
  }, [only])
  const namespaces = listeners.find(({ id }) => id === listenerId)?.computeConfig.k8sNamespaces ?? []
  return (
    <Stack gap="sm">
      <Field
        label="Image"
        description="In the format of docker pull. The agent must listen on PORT and answer GET /ok (or PILOTHOUSE_HEALTH_PATH)."
        placeholder="registry.example.com/acme/agent:1.4.2"
        {...form.getInputProps('imageUri')}
        onChange={({ currentTarget: { value: imageUri } }) =>
          form.setValues({ imageUri, ...(isNameDerived && { name: suggestName(imageUri.trim()) }) })
        }
        required
      />
      {listeners.length > 0 && (
        <NativeSelect
          label="Cluster"
          description="The cluster that runs the agent. It can’t be changed later."
          {...form.getInputProps('listenerId')}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
          required
          data={[
            { value: '', label: 'Choose a cluster', disabled: true },
            ...listeners.map(({ id, computeId, status }) => ({
              value: id,
              label: status === 'OFFLINE' ? `${computeId} (offline)` : computeId,
            })),
          ]}
        />
      )}
      {namespaces.length > 1 && (
        <NativeSelect
          label="Namespace"
          {...form.getInputProps('namespace')}
          error={form.errors.listenerConfig}
          data={namespaces}
        />
      )}
    </Stack>
  )
}
