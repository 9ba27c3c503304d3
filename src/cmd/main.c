/* cmd/main.c - argv in, exit status out. */
int main(void)
{
	return 2;
}
