/** Build settings of a deployment from source. */
import { SimpleGrid, TextInput } from '@mantine/core'
import type { FieldsProps } from './fields.ts'

export function BuildFields({ draft, onChange, errors }: FieldsProps) {
  return (
    <>
      <TextInput
        label="Graph configuration"
        description="Path to langgraph.json or graph.json. Without graphs: package.json, pyproject.toml, Procfile or Dockerfile."
        value={draft.graphConfigPath}
        error={errors.graphConfigPath}
        onChange={({ currentTarget }) => onChange({ graphConfigPath: currentTarget.value })}
        autoComplete="off"
        spellCheck={false}
        required
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput
          label="Install command"
          placeholder="detected from the lock file"
          value={draft.installCommand}
          error={errors.installCommand}
          onChange={({ currentTarget }) => onChange({ installCommand: currentTarget.value })}
          autoComplete="off"
          spellCheck={false}
        />
        <TextInput
          label="Build command"
          placeholder="none"
          value={draft.buildCommand}
          error={errors.buildCommand}
          onChange={({ currentTarget }) => onChange({ buildCommand: currentTarget.value })}
          autoComplete="off"
          spellCheck={false}
        />
      </SimpleGrid>
    </>
  )
}
