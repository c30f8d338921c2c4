/** The button and dialog that create an API key and show it once. */
import { Code } from '@mantine/core'
import { CreateSecret } from '../../components/create-secret.tsx'
import { KeyForm } from './key-form.tsx'

export const CreateKey = () => (
  <CreateSecret
    label="New key"
    title="New API key"
    what="key"
    form={KeyForm}
    help={({ name }) => (
      <>
        “{name}” is shown only once. Store it where your program can read it, and send it in the header{' '}
        <Code>X-Api-Key</Code>.
      </>
    )}
  />
)
