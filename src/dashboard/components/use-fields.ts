/** The fields of a form for a mutation's input. `getInputProps` limits texts to the length that the server takes. */
import { type UseFormInput, type UseFormReturnType, useForm } from '@mantine/form'
import { INPUT_FIELDS } from './input-fields.ts'

export type Fields<Values extends object = Record<string, unknown>> = UseFormReturnType<Values>

/** `input`: the name of the input's type. Fields of the form have the names of its fields. */
export const useFields = <Values extends object>(input: string, options: UseFormInput<Values>): Fields<Values> =>
  useForm<Values>({
    // an error stays until the next submit
    clearInputErrorOnChange: false,
    enhanceGetInputProps: ({ field }) => ({ maxLength: INPUT_FIELDS[input]![String(field)]?.maxLength }),
    ...options,
  })
