// Choices for the response_format of image and video requests that name none.
export const RESPONSE_FORMATS = [
  { value: "url", label: "url: the address of a hosted file" },
  { value: "b64_json", label: "b64_json: base64, and a hosted file" },
  { value: "b64_ephemeral", label: "b64_ephemeral: base64, nothing is stored" },
];
